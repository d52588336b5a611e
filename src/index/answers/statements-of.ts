import { isTableRule } from "../markdown-lines.ts";
import { segments } from "../segments.ts";

/** What of a passage can stand alone as an answer: a sentence, an item with what introduces its list, a row with the names of its columns. */
export interface Statement {
  readonly text: string;
  /** Headings, a question, or what introduces a list: they say what the statement is about. */
  readonly about: readonly string[];
  /** The sentence before it in the same paragraph; "" if it begins one. */
  readonly before: string;
  /** Counts from 0 through the passage. */
  readonly position: number;
}

/** Longer statements are cut. */
const MAX_LENGTH = 400;
/** A list up to this length is shown as one, with what introduces it. */
const MAX_LIST = 320;
const FENCE = /^\s*(?:```|~~~)/;
const HEADING = /^\s{0,3}#{1,6}(?:\s+|$)/;
const ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s+/;
const QUOTED = /^\s*>\s?/;

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
      // Alone, code says nothing; after what introduces it, it is the rest of the sentence.
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
      let before = "";
      for (const sentence of sentencesOf(block.lines)) {
        if (sentence.endsWith("?")) question = sentence;
        else if (/:$/.test(sentence)) leadIn = sentence;
        else if (isLabel(sentence)) {
          // What stands in bold before a paragraph, or above it, is its heading.
          if (before === "") question = sentence;
          continue;
        } else if (!isBoilerplate(sentence)) add(sentence, [heading, question], before);
        before = sentence;
      }
    }
  }
  return found;
}

/** The most signs among letters that people read as a sentence: JSON and the like have more. */
const MOST_SIGNS = 0.22;

function isGibberish(text: string): boolean {
  const signs = text.match(/[^\p{L}\p{N}\p{M}\s]/gu)?.length ?? 0;
  return signs > 8 && signs > text.length * MOST_SIGNS;
}

interface Around {
  readonly heading: string;
  readonly question: string;
  readonly leadIn: string;
}

/** A short list is one statement, with what introduces it; else each of its items is one. */
function addItems(
  items: readonly (readonly string[])[],
  { heading, question, leadIn }: Around,
  add: (text: string, about: readonly string[], before?: string) => void,
): void {
  const raw = items.map((lines) => lines.join(" "));
  if (raw.filter(isOnlyLink).length > raw.length / 2) return;
  const texts = items.map((lines) => sentencesOf(lines)).filter((sentences) => sentences.length > 0);
  const whole = texts.map((sentences) => sentences.join(" "));
  const listed = whole.map((one) => one.replace(/[;,.]$/, "")).join("; ");
  if (leadIn !== "" && leadIn.length + listed.length <= MAX_LIST) {
    add(`${leadIn} ${listed}`, [heading, question]);
    return;
  }
  for (const sentences of texts) {
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
      add(shown, [heading, question, leadIn, asked], before);
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
    } else if (isTableRule(line) || /^\s*\|/.test(line)) {
      // A row without its table: what its cells mean stands elsewhere.
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

/** German writes them with a blank and a capital letter behind. */
const ABBREVIATION =
  /(?:^|[\s("„«])(?:\p{L}|ca|bzw|usw|vgl|evtl|ggf|inkl|exkl|zzgl|max|min|Nr|Abs|Art|Tel|Str|Dr|Prof|Hr|Fr|Mr|Mrs|Ms|St|vs|approx|incl|Inc|Ltd|e\.g|i\.e|etc|z\.\s?B|d\.\s?h|u\.\s?a)\.$/u;

/** `am 31. März` */
const ORDINAL = /(?:^|\s)(?:am|der|die|das|dem|den|des|vom|zum|bis|ab|im|seit|jede[nsmr]?|und) \d{1,2}\.$/iu;

/** A paragraph of short lines without full stops is a sentence a line: an address, opening hours. */
function sentencesOf(lines: readonly string[]): string[] {
  const isListLike =
    lines.length > 1 && lines.every((line) => line.length <= 80 && /^[^.!?:]{1,40}:\s/.test(withoutMarks(line)));
  const texts = isListLike || lines.some((line) => / {2}$|\\$/.test(line)) ? lines : [lines.join(" ")];
  return texts
    .flatMap((text) => cutSentences(withoutMarks(text)))
    .map((one) => one.trim())
    .filter((one) => /\p{L}{2}/u.test(one));
}

/** Consecutive parts that make up the whole text: sentences, which end neither after an abbreviation nor within parentheses. */
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

/** A short word and a number behind its full stop are most likely one thing: `ext. 4411`, `Fig. 3`. */
function goesOn(before: string, next: string): boolean {
  if (ABBREVIATION.test(before) || ORDINAL.test(before)) return true;
  if (/(?:^|[^\p{L}])\p{L}{1,4}\.$/u.test(before) && /^[\p{Ll}\p{N}]/u.test(next)) return true;
  const opened = before.lastIndexOf("(");
  return opened > before.lastIndexOf(")") && before.length - opened < MAX_PARENTHESIS && /^[^(]*\)/u.test(next);
}

/** Few words without an end, a figure or a value: they name something, and say nothing of it. */
function isLabel(text: string): boolean {
  const words = text.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’.@-]*/gu) ?? [];
  if (isMenu(text)) return true;
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

/** Stands below every page, and answers nothing that is asked of it: unless that is what is asked for. */
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

/** A row of which only the first cell is filled is a heading within the table. */
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

/** Returns a line without Markdown of emphasis and links, and without what a terminal would obey. */
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
