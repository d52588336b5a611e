// A line of a log stays one line, whatever it holds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { logLine } from "../../src/lib/text.ts";

const LINES: ReadonlyArray<readonly [string, string]> = [
  ["plain text, ümläute and 日本語", "plain text, ümläute and 日本語"],
  ["a\nGET /forged: fine", "a\\u000aGET /forged: fine"],
  ["a\r\nb", "a\\u000d\\u000ab"],
  ["\u001b[2Jgone", "\\u001b[2Jgone"],
  ["a\u0000b\u0085c\u2028d", "a\\u0000b\\u0085c\\u2028d"],
  ["exe.\u202efdp", "exe.\\u202efdp"],
];

for (const [given, expected] of LINES) {
  test(`a line of a log stays one line: ${JSON.stringify(given)}`, () => assert.equal(logLine(given), expected));
}
