/**
 * Full-text tables. Their texts are words made by analyze(), joined by blanks. The tokenizer `ascii` takes everything
 * beyond ASCII as part of a word, so with the underscore it cuts at blanks and nowhere else.
 */
export const TEXT_TABLES = `
CREATE VIRTUAL TABLE chunks_text USING fts5 (
  headings, text, content='', contentless_delete=1, tokenize="ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE labels_text USING fts5 (
  name, path, title, content='', contentless_delete=1, tokenize="ascii tokenchars '_'"
);
-- No tables of their own: they show in how many chunks, and labels, a word occurs.
CREATE VIRTUAL TABLE chunks_words USING fts5vocab (chunks_text, row);
CREATE VIRTUAL TABLE labels_words USING fts5vocab (labels_text, row);
-- Every word that ever occurred, for typos and parts of compounds. Words are never taken out: they are few, and a search
-- asks whether one still occurs.
CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE) STRICT;
CREATE VIRTUAL TABLE words_triples USING fts5 (word, content='', tokenize='trigram', detail=none);
`;
