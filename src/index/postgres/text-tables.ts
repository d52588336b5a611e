/**
 * Full-text tables. `chunks_text` and `labels_text` hold the words of each row, made by analyze() and joined by blanks;
 * `…_postings` say how often a word occurs in each field of a row of so many words, all of it in the index, so that
 * ranking reads nothing else. `text_totals` has what the average length needs.
 */
export const TEXT_TABLES = `
CREATE TABLE chunks_text (
  id bigint PRIMARY KEY,
  headings text COLLATE "C" NOT NULL,
  text text COLLATE "C" NOT NULL,
  length integer NOT NULL
);
CREATE TABLE chunks_postings (
  word text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  headings integer NOT NULL,
  text integer NOT NULL,
  length integer NOT NULL,
  PRIMARY KEY (word, id) INCLUDE (headings, text, length)
);
CREATE TABLE labels_text (
  id bigint PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  title text COLLATE "C" NOT NULL,
  length integer NOT NULL
);
CREATE TABLE labels_postings (
  word text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  name integer NOT NULL,
  path integer NOT NULL,
  title integer NOT NULL,
  length integer NOT NULL,
  PRIMARY KEY (word, id) INCLUDE (name, path, title, length)
);
CREATE TABLE text_totals (kind text PRIMARY KEY, row_count bigint NOT NULL, word_count bigint NOT NULL);
INSERT INTO text_totals VALUES ('chunks', 0, 0), ('labels', 0, 0);

-- Every word that ever occurred, for typos and parts of compounds. Words are never taken out: they are few, and a search
-- asks whether one still occurs.
CREATE TABLE words (word text COLLATE "C" PRIMARY KEY);
CREATE TABLE words_triples (
  triple text COLLATE "C" NOT NULL,
  word text COLLATE "C" NOT NULL,
  PRIMARY KEY (triple, word)
);
`;
