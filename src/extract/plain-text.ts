import type { ExtractedDocument } from "../contracts/document.ts";
import { decodeText } from "./decode-text.ts";

/** Prose of some kind: passed on as it is, so that its paragraphs stay paragraphs. */
export const PROSE_TYPES: readonly string[] = ["txt", "tex"];

/** File type to the language named on the fence. */
export const CODE_LANGUAGES: Readonly<Record<string, string>> = {
  c: "c",
  cpp: "cpp",
  cs: "csharp",
  css: "css",
  go: "go",
  h: "c",
  hpp: "cpp",
  java: "java",
  js: "js",
  json: "json",
  kt: "kotlin",
  php: "php",
  ps1: "powershell",
  py: "python",
  rb: "ruby",
  rs: "rust",
  sh: "sh",
  sql: "sql",
  swift: "swift",
  toml: "toml",
  ts: "ts",
  yaml: "yaml",
  yml: "yaml",
};

export function extractPlainText(bytes: Uint8Array): ExtractedDocument {
  return { title: "", markdown: decodeText(bytes).trimEnd() };
}

/** Fenced, so that comments beginning with `#` are not taken for headings. */
export function extractCode(bytes: Uint8Array, language: string): ExtractedDocument {
  const text = decodeText(bytes).trimEnd();
  return { title: "", markdown: text.trim() ? fenceCode(text, language) : "" };
}

/** The fence is longer than any run of backticks inside. */
export function fenceCode(text: string, language: string): string {
  let longest = 2;
  for (const [run] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length);
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
