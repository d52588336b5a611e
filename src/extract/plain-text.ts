import { declaredEncoding, decodeText } from "./decode-text.ts";
import type { ReadText } from "./formats.ts";

/** Prose of some kind: passed on as it is, so that its paragraphs stay paragraphs. */
export const PROSE_TYPES: readonly string[] = [
  "txt",
  "text",
  "tex",
  "log",
  "rst",
  "adoc",
  "asciidoc",
  "org",
  "srt",
  "vtt",
];

/** Languages named on the fence, with the file types they have. */
const LANGUAGES: Readonly<Record<string, string>> = {
  bash: "bash",
  bat: "bat cmd",
  c: "c h",
  clojure: "clj",
  cpp: "cpp cc cxx hpp hh",
  csharp: "cs",
  css: "css scss less",
  dart: "dart",
  elixir: "ex exs",
  erlang: "erl",
  fsharp: "fs",
  go: "go",
  graphql: "graphql gql",
  groovy: "groovy gradle",
  haskell: "hs",
  hcl: "tf hcl",
  ini: "ini cfg conf properties",
  java: "java",
  js: "js mjs cjs jsx",
  json: "json jsonl ndjson",
  julia: "jl",
  kotlin: "kt kts",
  lua: "lua",
  perl: "pl pm",
  php: "php",
  powershell: "ps1 psm1",
  protobuf: "proto",
  python: "py",
  r: "r",
  ruby: "rb",
  rust: "rs",
  scala: "scala",
  sh: "sh zsh",
  sql: "sql",
  swift: "swift",
  toml: "toml",
  ts: "ts mts cts tsx",
  vb: "vb bas vbs",
  xml: "xml xsd xsl xslt wsdl",
  yaml: "yaml yml",
};

/** File type to the language named on the fence. */
export const CODE_LANGUAGES: ReadonlyMap<string, string> = new Map(
  Object.entries(LANGUAGES).flatMap(([language, types]) =>
    types.split(" ").map((type): [string, string] => [type, language]),
  ),
);

export function extractPlainText(bytes: Uint8Array): ReadText {
  return { title: "", markdown: decodeText(bytes).trimEnd() };
}

/** Fenced, so that comments beginning with `#` are not taken for headings. */
export function extractCode(bytes: Uint8Array, language: string): ReadText {
  const text = decodeText(bytes, language === "xml" ? declaredEncoding(bytes) : "").trimEnd();
  const readable = language === "json" ? breakJson(text) : text;
  return { title: "", markdown: text.trim() ? fenceCode(readable, language) : "" };
}

/** The fence is longer than any run of backticks inside. */
export function fenceCode(text: string, language: string): string {
  let longest = 2;
  for (const [run] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** A line longer than this was written for machines. */
const LONG_LINE = 1000;
/** Every level indents all lines below it; deeper ones go on at this level. */
const MAX_INDENT = 8;

/**
 * Long lines of JSON become lines people can read and passages can be cut at. Only white space is added, so that numbers
 * stay as they are written, and JSON that is broken stays as broken as it was.
 */
function breakJson(json: string): string {
  return json
    .split("\n")
    .map((line) => (line.length > LONG_LINE ? breakLine(line) : line))
    .join("\n");
}

function breakLine(line: string): string {
  const parts: string[] = [];
  let depth = 0;
  let written = 0;
  const feed = (end: number): void => {
    parts.push(line.slice(written, end).trim(), "\n", "  ".repeat(Math.max(0, Math.min(depth, MAX_INDENT))));
    written = end;
  };
  for (let at = 0; at < line.length; at += 1) {
    const code = line.charCodeAt(at);
    if (code === 0x22) at = stringEnd(line, at + 1);
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      feed(at + 1);
    } else if (code === 0x7d || code === 0x5d) {
      depth -= 1;
      feed(at);
    } else if (code === 0x2c) feed(at + 1);
  }
  return parts.join("") + line.slice(written);
}

/** Where the closing quote is, or the end of the line. */
function stringEnd(line: string, start: number): number {
  for (let at = line.indexOf('"', start); at !== -1; at = line.indexOf('"', at + 1)) {
    let slashes = 0;
    while (line.charCodeAt(at - 1 - slashes) === 0x5c) slashes += 1;
    if (slashes % 2 === 0) return at;
  }
  return line.length;
}
