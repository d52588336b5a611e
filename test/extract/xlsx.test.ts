// Workbooks become a section per sheet and a line per row with the names of its columns.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatNumber } from "../../src/extract/xlsx.ts";
import { extractFile } from "./extract-file.ts";
import { type CellRecipe, makeXlsx } from "./make-xlsx.ts";

async function markdownOf(...rows: CellRecipe[][]): Promise<string> {
  return (await extractFile("xlsx", makeXlsx([{ name: "S", rows }]))).markdown;
}

test("xlsx: a section per sheet, a line per row with the names of its columns", async () => {
  const workbook = makeXlsx(
    [
      {
        name: "People &amp; pay",
        rows: [
          ["Name", "Since", "Pay", "Note"],
          ["Anna", [45292, "dd.mm.yyyy"], [1234.5, '#,##0.00\\ "€"'], null],
          ["Bob", [45351.75, "m/d/yy h:mm"], [0.125, "0.0%"], "part; time"],
        ],
      },
      { name: "Secret", rows: [["hidden"]], state: "hidden" },
      { name: "Empty", rows: [] },
      { name: "Words", rows: [["just a line"]] },
    ],
    { title: "Staff" },
  );
  assert.deepEqual(await extractFile("xlsx", workbook), {
    title: "Staff",
    language: "",
    markdown: [
      "## People & pay",
      "- Name: Anna; Since: 2024-01-01; Pay: 1,234.50 €\n- Name: Bob; Since: 2024-02-29 18:00; Pay: 12.5%; Note: part; time",
      "## Words",
      "- just a line",
    ].join("\n\n"),
  });
});

test("xlsx: titles above the header, tables below each other, rows without a header", async () => {
  const text = await markdownOf(
    ["Budget 2024"],
    ["Item", "EUR"],
    ["Chairs", 10],
    [],
    ["Item", "USD"],
    ["Tables", 20],
    [],
    [1, 2],
  );
  assert.equal(text, "## S\n\nBudget 2024\n\n- Item: Chairs; EUR: 10\n\n- Item: Tables; USD: 20\n\n- Item: 1; USD: 2");
  assert.equal(await markdownOf([1, 2], [3, null, 4]), "## S\n\n- 1; 2\n- 3; 4");
});

test("xlsx: a cell that spans rows is repeated, so that every row can be read alone", async () => {
  const rows = [
    ["Region", "City"],
    ["North", "Kiel"],
    [null, "Hamburg"],
    ["South", "Ulm"],
  ];
  const { markdown } = await extractFile("xlsx", makeXlsx([{ name: "S", rows, merges: ["A2:A3", "A1:XFD1048576"] }]));
  assert.match(markdown, /- Region: North; City: Hamburg\n- Region: South; City: Ulm$/);
});

test("xlsx: truth, errors, formulas, rich and inline text", async () => {
  const text = await markdownOf(
    ["A", "B", "C", "D"],
    [
      { xml: '<c r="PLACE" t="b"><v>1</v></c>' },
      { xml: '<c r="PLACE" t="e"><v>#N/A</v></c>' },
      { xml: '<c r="PLACE" t="str"><f>A1&amp;"x"</f><v>made up</v></c>' },
      { xml: '<c r="PLACE" t="inlineStr"><is><r><t>in</t></r><r><t>line</t></r><rPh><t>no</t></rPh></is></c>' },
    ],
  );
  assert.equal(text, "## S\n\n- A: TRUE; B: #N/A; C: made up; D: inline");
});

test("xlsx: a long sheet is cut with a note", async () => {
  const rows: CellRecipe[][] = [["Name", "No"], ...Array.from({ length: 30 }, (_, at) => [`n${at}`, at])];
  const { markdown } = await extractFile("xlsx", makeXlsx([{ name: "S", rows }]), { maxRows: 11 });
  assert.match(markdown, /- Name: n9; No: 9\n\n\(20 more rows are left out: the table is too long\.\)$/);
});

test("xlsx: dates of the other calendar", async () => {
  const rows: CellRecipe[][] = [
    ["Day", "x"],
    [[0, "yyyy-mm-dd"], "y"],
  ];
  const { markdown } = await extractFile("xlsx", makeXlsx([{ name: "S", rows }], { date1904: true }));
  assert.match(markdown, /Day: 1904-01-01; x: y/);
});

const numbers: readonly [value: number, format: string, text: string][] = [
  [1234567.891, "General", "1234567.891"],
  [0.1 + 0.2, "General", "0.3"],
  [1234567.891, "#,##0", "1,234,568"],
  [-1234.5, "#,##0.00;[Red](#,##0.00)", "(1,234.50)"],
  [-5, "0.0", "-5.0"],
  [0, '0;-0;"none"', "none"],
  [3.5, "0.###", "3.5"],
  [3, "0.##", "3"],
  [99.5, "[$€-407] #,##0.00", "€ 99.50"],
  [12, '0 "pcs"', "12 pcs"],
  [0.255, "0%", "26%"],
  [12345, "0.00E+00", "1.23e+4"],
  [7, "000", "007"],
  [1_500_000, "0.0,,", "1.5"],
  [0.75, "h:mm", "18:00"],
  [1.5, "[h]:mm", "36:00"],
  [45292.999988, "yyyy-mm-dd hh:mm:ss", "2024-01-01 23:59:59"],
  [45292, "mmmm yyyy", "2024-01"],
  [1, "d/m/yyyy", "1900-01-01"],
  [-1, "yyyy-mm-dd", "-1"],
  [1e12, "yyyy-mm-dd", "1000000000000"],
];

for (const [value, format, text] of numbers) {
  test(`xlsx: ${value} as ${format}`, () => assert.equal(formatNumber(value, format, false), text));
}
