import { decodeText } from "./decode-text.ts";
import type { ReadText } from "./formats.ts";

const MAX_FRONT_MATTER_LENGTH = 64 * 1024;
const MAX_VALUE_LENGTH = 2000;
/** A heading further down is no title. */
const TITLE_WITHIN_LENGTH = 1_000_000;

/** Markdown as it is; of its front matter, title and description are text. A title there wins over the first heading. */
export function extractMarkdown(bytes: Uint8Array): ReadText {
  return readMarkdownText(decodeText(bytes));
}

export function readMarkdownText(text: string): ReadText {
  const { matter, body } = splitFrontMatter(text);
  const title = valueIn(matter, "title");
  const heading = firstHeading(body);
  const description = valueIn(matter, "description");
  const opening = title === heading ? (/^#[^\n]*(?=\n|$)/.exec(body)?.[0] ?? "") : title && `# ${title}`;
  const rest = title === heading ? body.slice(opening.length).replace(/^\n+/, "") : body;
  const markdown = description || title !== heading ? [opening, description, rest.trimEnd()] : [body.trimEnd()];
  const joined = markdown.filter((part) => part !== "").join("\n\n");
  return { title: title || heading, markdown: isOnlyPictures(joined) ? "" : joined };
}

const PICTURE = /!\[\s*\](?:\((?:[^()]|\([^()]*\))*\)|\[[^[\]]*\])|<img\b[^<>]*>/gi;
const EMPTY_LINK = /\[\s*\]\((?:[^()]|\([^()]*\))*\)/g;

/** Pictures without a word that stands for them, alone or in links, headings, lists and tables. */
function isOnlyPictures(markdown: string): boolean {
  const rest = markdown.replaceAll(PICTURE, (tag) => /\balt\s*=\s*["']?[^"'\s]/i.exec(tag)?.[0] ?? "");
  return rest.length < markdown.length && /^[\s#>|:*+-]*$/.test(rest.replaceAll(EMPTY_LINK, ""));
}

/** Only a block that opens the file, is closed, and begins with `key:` is front matter; else `---` is a rule. */
function splitFrontMatter(text: string): { matter: string; body: string } {
  const none = { matter: "", body: text };
  const opening = /^---[ \t]*\n/.exec(text.slice(0, 200));
  if (!opening) return none;
  const head = text.slice(opening[0].length, MAX_FRONT_MATTER_LENGTH);
  if (!/^(?:\s*#[^\n]*\n)*\s*[\w"'-]+[ \t]*:/.test(head.slice(0, 2000))) return none;
  const closing = /^(?:---|\.\.\.)[ \t]*$/m.exec(head);
  if (!closing) return none;
  const bodyStart = opening[0].length + closing.index + closing[0].length;
  return { matter: head.slice(0, closing.index), body: text.slice(bodyStart).replace(/^\n+/, "") };
}

/** On one line, however it is written: bare, quoted, or as a block below its key. */
function valueIn(matter: string, key: "title" | "description"): string {
  const lines = matter.split("\n");
  const at = lines.findIndex((line) => line.startsWith(key) && /^\w+[ \t]*:/.test(line));
  if (at === -1) return "";
  const first = (lines[at] ?? "").replace(/^\w+[ \t]*:/, "").trim();
  const parts = /^[>|][-+\d]{0,2}$/.test(first) ? [] : [first];
  for (let next = at + 1; /^[ \t]+\S|^$/.test(lines[next] ?? "-"); next += 1) parts.push((lines[next] ?? "").trim());
  const value = parts.join(" ").replaceAll(/\s+/g, " ").trim().slice(0, MAX_VALUE_LENGTH);
  const quoted = /^(["'])(.*)\1$/.exec(value);
  if (!quoted) return value.replace(/\s#\s.*$/, "");
  return quoted[1] === "'" ? (quoted[2] ?? "").replaceAll("''", "'") : (quoted[2] ?? "").replaceAll(/\\(["\\])/g, "$1");
}

/** Text of the first ATX or Setext heading outside code, "" when there is none near the beginning. Stops at the first it finds. */
export function firstHeading(markdown: string): string {
  let fence = "";
  let previous = "";
  for (let start = 0; start < markdown.length && start < TITLE_WITHIN_LENGTH; ) {
    const feed = markdown.indexOf("\n", start);
    const end = feed === -1 ? markdown.length : feed;
    const line = markdown.slice(start, Math.min(end, start + 500));
    const marks = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence) {
      if (marks.startsWith(fence) && line.trim() === marks) fence = "";
    } else if (marks) {
      fence = marks;
    } else {
      const atx = /^ {0,3}#{1,6}[ \t]+(\S.*)$/.exec(line)?.[1];
      if (atx) return atx.replace(/[ \t]+#+[ \t]*$/, "").trim();
      if (/^ {0,3}(?:=+|-+)[ \t]*$/.test(line) && isUnderlined(previous)) return previous.trim();
    }
    previous = fence || end - start > 500 ? "" : line;
    start = end + 1;
  }
  return "";
}

function isUnderlined(line: string): boolean {
  return line.trim() !== "" && !/^\s*(?:[-*+>|#]|\d{1,9}[.)]\s|<!--|`{3}|~{3})/.test(line) && !/^\s{2}/.test(line);
}

/** Text that would begin a heading, list, quote, rule, fence or underline loses that power; words stay as they are. */
export function escapeLine(line: string): string {
  const number = /^(\d{1,9})([.)])(?=\s|$)/.exec(line);
  if (number) return `${number[1]}\\${line.slice(number[1]?.length)}`;
  return /^(?:#{1,6}(?:\s|$)|[-+*](?:\s|$)|>|`{3}|~{3}|=+\s*$|-+\s*$|<!-- page )/.test(line) ? `\\${line}` : line;
}

/** A GFM table; the first row is its head. Rows may be of different length. */
export function gfmTable(rows: readonly (readonly string[])[]): string {
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const lines = rows.map((row) => {
    const cells = Array.from({ length: columns }, (_, column) => cellText(row[column] ?? ""));
    return `| ${cells.join(" | ")} |`;
  });
  lines.splice(1, 0, `|${" --- |".repeat(columns)}`);
  return lines.join("\n");
}

function cellText(text: string): string {
  return text
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll("|", "\\|")
    .trim();
}
