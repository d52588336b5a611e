// CSV files become readable rows, whatever their separator and encoding.
import assert from "node:assert/strict";
import { test } from "node:test";
import { extractFile } from "./extract-file.ts";

const cases: readonly [title: string, type: string, text: string, markdown: string][] = [
  ["commas", "csv", "Name,City\nAnna,Köln\nBob,\n", "- Name: Anna; City: Köln\n- Name: Bob"],
  [
    "semicolons, decimal commas",
    "csv",
    "Art;EUR\nTisch;1,50\nStuhl;2,00\n",
    "- Art: Tisch; EUR: 1,50\n- Art: Stuhl; EUR: 2,00",
  ],
  ["tabs", "tsv", "a\tb\nx, y\tz\n", "- a: x, y; b: z"],
  ["Excel's hint", "csv", "sep=|\na|b\n1|2\n", "- a: 1; b: 2"],
  ["quotes, line ends and quotes inside", "csv", 'a,b\r\n"x ""y""\r\nz",2\r\n', '- a: x "y" z; b: 2'],
  ["no header", "csv", "1,2\n3,4\n", "- 1; 2\n- 3; 4"],
  ["one column", "csv", "word\nother\n", "- word\n- other"],
  ["longer and shorter rows", "csv", "a,b\n1,2,3\n4\n", "- a: 1; b: 2; 3\n- a: 4"],
  ["a quote that never ends", "csv", 'a,b\n"x,1\ny,2', "- a: x,1 y,2"],
];

for (const [title, type, text, markdown] of cases) {
  test(`csv: ${title}`, async () => assert.equal((await extractFile(type, text)).markdown, markdown));
}

test("csv: windows-1252", async () => {
  const bytes = Buffer.from("Name;Stra\xdfe\nM\xfcller;Am Tor\n", "latin1");
  assert.equal((await extractFile("csv", bytes)).markdown, "- Name: Müller; Straße: Am Tor");
});

test("csv: a long table is cut with a note", async () => {
  const text = `name,no\n${Array.from({ length: 20 }, (_, at) => `n${at},${at}`).join("\n")}`;
  const { markdown } = await extractFile("csv", text, { maxRows: 10 });
  assert.match(markdown, /- name: n9; no: 9\n\n\(10 more rows are left out: the table is too long\.\)$/);
});
