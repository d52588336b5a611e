import { styleText } from "node:util";
import { sayFreshness } from "../lib/freshness.ts";
import { plainText } from "../lib/text.ts";
import { cutToWidth, textWidth } from "./terminal-text.ts";

export interface ShownPassage {
  readonly name: string;
  readonly title?: string;
  readonly modifiedAt?: string;
  readonly checkedAt?: string;
  readonly isBehind?: boolean;
  readonly url: string;
  readonly sectionPath: string;
  readonly score: number;
  readonly text: string;
}

const MAX_PASSAGE = 400;

/** Prints passages: name, section, text and address. */
export function showAnswer(passages: readonly ShownPassage[], out: NodeJS.WriteStream = process.stdout): void {
  if (passages.length === 0) out.write("Nothing found.\n");
  for (const [i, passage] of passages.entries()) {
    const title = plainText(passage.title || passage.name);
    const section = sectionBelow(title, plainText(passage.sectionPath));
    const where = section ? ` › ${section}` : "";
    const head = styleText("bold", `${i + 1}. ${title}`, { stream: out });
    out.write(`${head}${where} ${styleText("dim", `(${passage.score.toFixed(2)})`, { stream: out })}\n`);
    for (const line of wrap(shorten(passage.text), (out.columns || 100) - 4)) out.write(`   ${line}\n`);
    out.write(`   ${styleText("cyan", plainText(passage.url || passage.name), { stream: out })}\n`);
    const { checkedAt = "", modifiedAt = "", isBehind = false } = passage;
    const fresh = sayFreshness({ checkedAt, isBehind, changedAt: modifiedAt });
    out.write(fresh ? `   ${styleText("dim", fresh, { stream: out })}\n\n` : "\n");
  }
}

/** The title is mostly the first heading, which need not be said twice. */
function sectionBelow(title: string, sectionPath: string): string {
  if (sectionPath === title) return "";
  return sectionPath.startsWith(`${title} > `) ? sectionPath.slice(title.length + 3) : sectionPath;
}

function shorten(text: string): string {
  const clean = plainText(text);
  return clean.length > MAX_PASSAGE ? `${clean.slice(0, MAX_PASSAGE).replace(/\s+\S*$/, "")} …` : clean;
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).flatMap((long) => breakUp(long, width))) {
    if (line && textWidth(line) + textWidth(word) + 1 > width) {
      lines.push(line);
      line = word;
    } else {
      line = line ? `${line} ${word}` : word;
    }
  }
  return [...lines, line];
}

/** Splits words that do not fit: some languages write whole sentences without a blank. */
function breakUp(word: string, width: number): string[] {
  const pieces: string[] = [];
  let rest = word;
  while (textWidth(rest) > width) {
    const piece = cutToWidth(rest, width);
    if (piece === "") break;
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return [...pieces, rest];
}
