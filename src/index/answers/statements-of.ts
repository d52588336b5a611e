import { isTableRule } from "../markdown-lines.ts";
import { segments } from "../segments.ts";

/** A piece of a passage that can be an answer by itself: a sentence, a list item with its lead-in, or a table row with its column names. */
export interface Statement {
  readonly text: string;
  /** Its context: headings, a question, the lead-in of a list. */
  readonly about: readonly string[];
  /** The sentence before it in the same paragraph; "" if it begins one. */
  readonly before: string;
  /** Counts from 0 through the passage. */
  readonly position: number;
}

/** Longer statements are cut. */
const MAX_LENGTH = 400;
/** A list up to this length is one statement, with its lead-in. */
const MAX_LIST = 320;
const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^\s{0,3}#{1,6}(?:\s+|$)/;
const ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s+/;
const QUOTED = /^\s*>\s?/;
const DEFINITION = /^\s{0,3}\[[^\]]+\]:\s*<?[a-z]+:\/\//i;

type Block =
  | { readonly kind: "heading"; readonly text: string }
  | { readonly kind: "paragraph" | "item"; readonly lines: string[] }
  | { readonly kind: "code"; readonly lines: string[] }
  | { readonly kind: "table"; readonly columns: readonly string[]; readonly rows: (readonly string[])[] };

/**
 * Returns the statements of a passage, without Markdown. Headings, labels, menus, licence lines, comments, front matter, questions, and
 * rows without the names of their columns are none.
 */
export function statementsOf(text: string): Statement[] {
  const found: Statement[] = [];
  let heading = "";
  let question = "";
  let leadIn = "";
  const add = (text: string, about: readonly string[], before = ""): void => {
    if (isGibberish(text)) return;
    found.push({ text: shortened(text), about: about.filter(Boolean), before, position: found.length });
  };
  const blocks = blocksOf(withoutComments(withoutFrontMatter(text)));
  for (let at = 0; at < blocks.length; at += 1) {
    const block = blocks[at];
    if (!block) continue;
    if (block.kind === "heading") {
      heading = block.text;
      question = leadIn = "";
    } else if (block.kind === "table") {
      for (const row of block.rows)
        if (isTelling(row)) add(namedCells(block.columns, row), [heading, question, leadIn]);
      leadIn = "";
    } else if (block.kind === "code") {
      // Code is a statement only after a lead-in, whose sentence it completes.
      const code = block.lines.map((line) => line.trim()).join(" ");
      if (leadIn !== "" && code !== "" && code.length <= MAX_LIST) add(`${leadIn} ${code}`, [heading, question]);
      leadIn = "";
    } else if (block.kind === "item") {
      const items = takeItems(blocks, at);
      at += items.length - 1;
      addItems(items, { heading, question, leadIn }, add);
      leadIn = "";
    } else {
      leadIn = "";
      if (isMailHeader(block.lines) || isCode(block.lines)) continue;
      const { label, lines } = withoutLabel(block.lines);
      if (label !== "") question = label;
      let before = "";
      for (const sentence of sentencesOf(lines)) {
        if (sentence.endsWith("?")) question = sentence;
        else if (/:$/.test(sentence)) leadIn = sentence;
        else if (isLabel(sentence)) {
          // A label before or above a paragraph is its heading.
          if (before === "") question = sentence;
          continue;
        } else if (!isBoilerplate(sentence)) add(sentence, [heading, question], before);
        before = sentence;
      }
    }
  }
  return found;
}

/** `**Parking.** Guests …`: the label is the heading of its paragraph. */
const RUN_IN = /^\s*(?:\*\*|__)([^*_]{2,60}?)(?:[.!]\s*(?:\*\*|__)|(?:\*\*|__)[.!])\s+(?=\S)/;

function withoutLabel(lines: readonly string[]): { readonly label: string; readonly lines: readonly string[] } {
  const [first = "", ...others] = lines;
  const [all = "", label = ""] = RUN_IN.exec(lines.length > 1 ? `${first} ` : first) ?? [];
  return { label: withoutMarks(label), lines: label === "" ? lines : [first.slice(all.length), ...others] };
}

const MAIL_HEADER =
  /^(?:from|to|cc|bcc|date|sent|subject|reply-to|message-id|in-reply-to|references|mime-version|content-[\w-]+|received|return-path|delivered-to|dkim-signature|list-[\w-]+|x-[\w-]+|von|an|gesendet|datum|betreff|attachments|anlagen):(?:\s|$)/i;

/** The head of a mail, also of one that is quoted in another: two lines of it in a row. */
function isMailHeader(lines: readonly string[]): boolean {
  const heads = lines.map(withoutMarks).filter((line) => MAIL_HEADER.test(line));
  const isSure = heads.some((line) => /@|^(?:subject|betreff|message-id|mime-version|content-|received)/i.test(line));
  return isSure && heads.length > 1 && heads.length >= lines.length / 2;
}

/** What lines of programs, queries, shells and stack traces have, and prose does not. */
const CODE_SIGNS: readonly RegExp[] = [
  /^(?:const|let|var|import|export|function|return|class|async|await|def|public|private|protected|static|package|using|namespace)\s.*[;{}]$/,
  /^(?:const|let|var)\s[\w{}[\], ]+=|^import\s.*["']|^def\s\w+\(|^#(?:include|define)\s|^(?:if|for|while|switch|catch)\s*\(.*[{;)]$/,
  /^(?:select\s.+\sfrom|insert\s+into|update\s.+\sset|delete\s+from|(?:create|alter|drop)\s+(?:unique\s+)?(?:table|index|view))\s+[\w"`[.]+(?:$|[\s;(].*[=;(*]|;)/i,
  /^(?:\$\s[a-z]|>>>\s|\/\/|\/\*|[}\])]+[;,]?$)|^at\s.*:\d+\)?$/,
  /[=(){}\]].*;$|\{$|=>|&&|\|\||[!=]==|\w::\w|^[\w.]+\s[-+]?=\s|^[\w.]+\(.*\)$/,
];

/** Whether most lines are code that no fence marks. */
function isCode(lines: readonly string[]): boolean {
  const telling = lines.filter((line) => line.trim() !== "");
  const code = telling.filter((line) => CODE_SIGNS.some((sign) => sign.test(line.trim())));
  return code.length > telling.length / 2;
}

/** Texts with a larger share of punctuation are no sentences: JSON and the like. */
const MAX_PUNCTUATION = 0.22;

function isGibberish(text: string): boolean {
  const signs = text.match(/[^\p{L}\p{N}\p{M}\s]/gu)?.length ?? 0;
  return signs > 8 && signs > text.length * MAX_PUNCTUATION;
}

interface Around {
  readonly heading: string;
  readonly question: string;
  readonly leadIn: string;
}

/** Adds a short list as one statement with its lead-in, and a longer one item by item. */
function addItems(
  items: readonly (readonly string[])[],
  { heading, question, leadIn }: Around,
  add: (text: string, about: readonly string[], before?: string) => void,
): void {
  const raw = items.map((lines) => lines.join(" "));
  if (raw.filter(isOnlyLink).length > raw.length / 2) return;
  const prose = items.filter((lines) => !isCode(lines));
  const texts = prose.map((lines) => sentencesOf(lines)).filter((sentences) => sentences.length > 0);
  const whole = texts.map((sentences) => sentences.join(" "));
  const listed = whole.map((one) => one.replace(/[;,.]$/, "")).join("; ");
  if (leadIn !== "" && leadIn.length + listed.length <= MAX_LIST) {
    add(`${leadIn} ${listed}`, [heading, question]);
    return;
  }
  for (const item of prose) {
    const { label, lines } = withoutLabel(item);
    const sentences = sentencesOf(lines);
    let before = "";
    const asked = sentences.find((one) => one.endsWith("?")) ?? "";
    for (const sentence of sentences) {
      if (sentence.endsWith("?") || isBoilerplate(sentence)) continue;
      if (isLabel(sentence) && leadIn === "") {
        before = sentence;
        continue;
      }
      const shown =
        isLabel(sentence) && leadIn.length + sentence.length <= MAX_LIST ? `${leadIn} ${sentence}` : sentence;
      add(shown, [heading, question, leadIn, label, asked], before);
      before = sentence;
    }
  }
}

function takeItems(blocks: readonly Block[], from: number): string[][] {
  const items: string[][] = [];
  for (const block of blocks.slice(from)) {
    if (block.kind !== "item") break;
    items.push(block.lines);
  }
  return items;
}

function withoutFrontMatter(text: string): string {
  return text.replace(/^\s*---\r?\n[\s\S]*?\n---[ \t]*(?:\r?\n|$)/, "");
}

function withoutComments(text: string): string {
  return text.replaceAll(/<!--[\s\S]*?(?:-->|$)/g, "");
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split(/\r?\n/);
  let open: string[] | undefined;
  let isCode = false;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (FENCE.test(line)) {
      isCode = !isCode;
      open = isCode ? [] : undefined;
      if (open) blocks.push({ kind: "code", lines: open });
    } else if (isCode) open?.push(line);
    else if (line.trim() === "") open = undefined;
    else if (HEADING.test(line)) {
      blocks.push({ kind: "heading", text: withoutMarks(line.replace(HEADING, "").replace(/\s#+\s*$/, "")) });
      open = undefined;
    } else if (line.includes("|") && isTableRule(lines[at + 1] ?? "")) {
      const rows: (readonly string[])[] = [];
      const columns = cellsOf(line);
      for (at += 2; at < lines.length && (lines[at] ?? "").includes("|"); at += 1) rows.push(cellsOf(lines[at] ?? ""));
      at -= 1;
      blocks.push({ kind: "table", columns, rows });
      open = undefined;
    } else if (DEFINITION.test(line)) {
      // Where a link leads, which nobody sees.
      open = undefined;
    } else if (isTableRule(line) || /^\s*\|/.test(line)) {
      // The row of a table that began before the passage: the column names are missing.
      open = undefined;
    } else if (ITEM.test(line)) {
      open = [line.replace(ITEM, "")];
      blocks.push({ kind: "item", lines: open });
    } else {
      const plain = line.replace(QUOTED, "");
      const goesOn = open !== undefined && plain.trim() !== "";
      if (goesOn) open?.push(plain);
      else open = plain.trim() === "" ? undefined : [plain];
      if (open && !goesOn) blocks.push({ kind: "paragraph", lines: open });
    }
  }
  return blocks;
}

/** A full stop after these ends no sentence, even if a capital letter follows, as in German. */
const ABBREVIATION =
  /(?:^|[\s("„«])(?:\p{L}|ca|bzw|usw|vgl|evtl|ggf|inkl|exkl|zzgl|max|min|Nr|Abs|Art|Tel|Str|Dr|Prof|Hr|Fr|Mr|Mrs|Ms|St|vs|approx|incl|Inc|Ltd|e\.g|i\.e|etc|z\.\s?B|d\.\s?h|u\.\s?a)\.$/u;

/** `am 31. März` */
const ORDINAL = /(?:^|\s)(?:am|der|die|das|dem|den|des|vom|zum|bis|ab|im|seit|jede[nsmr]?|und) \d{1,2}\.$/iu;

/** If all lines look like `Phone: 123`, as in an address or opening hours, each line is a sentence. */
function sentencesOf(lines: readonly string[]): string[] {
  const isListLike =
    lines.length > 1 && lines.every((line) => line.length <= 80 && /^[^.!?:]{1,40}:\s/.test(withoutMarks(line)));
  const texts = isListLike || lines.some((line) => / {2}$|\\$/.test(line)) ? lines : [lines.join(" ")];
  return texts
    .flatMap((text) => withValues(cutSentences(withoutMarks(text)).map((one) => one.trim())))
    .filter((one) => /\p{L}[\p{L}\p{N}]/u.test(one));
}

/** Appends `Default: 5.` to the sentence before it, which says of what. */
function withValues(sentences: readonly string[]): string[] {
  const joined: string[] = [];
  for (const sentence of sentences) {
    const last = joined.at(-1);
    const isValue = /^\p{L}[\p{L} -]{1,24}:\s\S/u.test(sentence) && sentence.length <= MAX_VALUE;
    if (last !== undefined && isValue && last.length + sentence.length < MAX_LENGTH && !/[?:]$/.test(last)) {
      joined[joined.length - 1] = `${last} ${sentence}`;
    } else joined.push(sentence);
  }
  return joined;
}

const MAX_VALUE = 60;

/** Cuts a text into sentences, which together are the whole text. None ends after an abbreviation or within parentheses. */
export function cutSentences(text: string): string[] {
  const sentences: string[] = [];
  let at = 0;
  for (const part of segments(text, "sentences")) {
    const last = sentences.at(-1);
    if (last !== undefined && goesOn(last.trimEnd(), text.slice(at, at + MAX_PARENTHESIS))) {
      sentences[sentences.length - 1] = last + part;
    } else {
      sentences.push(part);
    }
    at += part.length;
  }
  return sentences;
}

const MAX_PARENTHESIS = 200;

/** Whether a sentence continues in `next`: after an abbreviation, a short word with a number (`ext. 4411`, `Fig. 3`), or in parentheses. */
function goesOn(before: string, next: string): boolean {
  if (ABBREVIATION.test(before) || ORDINAL.test(before)) return true;
  if (/(?:^|[^\p{L}])\p{L}{1,4}\.$/u.test(before) && /^[\p{Ll}\p{N}]/u.test(next)) return true;
  const opened = before.lastIndexOf("(");
  return opened > before.lastIndexOf(")") && before.length - opened < MAX_PARENTHESIS && /^[^(]*\)/u.test(next);
}

/** Whether a text only names something: a few words without a number or a value. */
function isLabel(text: string): boolean {
  const words = text.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’.@-]*/gu) ?? [];
  // `W40`, above what it means
  if (isMenu(text) || (words.length === 1 && /^\p{L}[\p{L}\p{N}_-]*$/u.test(text) && !UNSPACED.test(text))) return true;
  if (/\d|@/.test(text) || /\S:\s\S/.test(text) || UNSPACED.test(text)) return false;
  const ends = /[.!…]["')\]»”’]*$/.test(text);
  return words.length <= (ends ? 2 : 4);
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** `Home › Products › Garden`, `Imprint | Privacy | Contact` */
function isMenu(text: string): boolean {
  const parts = text.split(/\s*[|›»·•→]\s*|\s+>\s+|\s+\/\s+/).filter(Boolean);
  return parts.length >= 3 && parts.every((part) => part.split(/\s+/).length <= 4 && !/[.!?]$/.test(part));
}

/** Licence and copyright lines, as below every page. */
const LICENCE =
  /©|\(c\)\s*\d{4}|\bcopyright\b|all rights reserved|alle rechte vorbehalten|tous droits réservés|SPDX-License|licen[cs]ed under|\b(?:MIT|BSD|Apache|GNU|Creative Commons|CC[ -]BY(?:-\w+)*)\b[^.]{0,40}\blicen[cs]e|lizen[sz]iert unter|unter (?:der|einer) [^.]{0,40}lizenz|urheberrecht|permission is hereby granted|without warranty|ohne gewähr/i;
const POINTER =
  /^(?:see (?:also|the)\b|read more|learn more|more (?:information|about)|back to|skip to|jump to|table of contents|on this page|last (?:updated|modified|reviewed|change)|edit this page|share this|siehe(?: auch)?\b|weiterlesen|mehr (?:dazu|erfahren|informationen)|zurück (?:zu|nach)|inhalt(?:sverzeichnis)?\b|zum inhalt|stand:|letzte (?:änderung|aktualisierung)|zuletzt (?:geändert|aktualisiert))/i;

function isBoilerplate(text: string): boolean {
  return LICENCE.test(text) || POINTER.test(text) || isMenu(text);
}

function isOnlyLink(raw: string): boolean {
  return /^\s*!?\[[^\]]*\]\([^)]*\)\s*$/.test(raw);
}

/** Whether a row says something: one with only one filled cell is a heading within the table. */
function isTelling(cells: readonly string[]): boolean {
  return cells.filter((cell) => /[\p{L}\p{N}]/u.test(cell)).length >= 2;
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\|/, "")
    .replace(/\|$/, "")
    .split("|")
    .map((cell) => withoutMarks(cell));
}

function namedCells(columns: readonly string[], cells: readonly string[]): string {
  return cells
    .map((cell, at) => (cell && columns[at] ? `${columns[at]}: ${cell}` : cell))
    .filter(Boolean)
    .join("; ");
}

/** Returns a line without emphasis and links of Markdown, and without control characters, which a terminal would obey. */
export function withoutMarks(line: string): string {
  return line
    .replaceAll(/!?\[([^[\]]*)\]\([^()\s]*\)/g, "$1")
    .replaceAll(/\*\*|__|`|\\$/g, "")
    .replaceAll(/<br\s*\/?>/gi, " ")
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
}

function shortened(text: string): string {
  if (text.length <= MAX_LENGTH) return text;
  const blank = text.lastIndexOf(" ", MAX_LENGTH);
  const cut = text.slice(0, blank > MAX_LENGTH / 2 ? blank : MAX_LENGTH);
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)} …`;
}
