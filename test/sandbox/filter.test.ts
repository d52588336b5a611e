// $filter in the sandbox takes and refuses what SharePoint does.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { reportLibrary } from "./report-library.ts";
import { errorOf, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const { api, library, items, namesOf } = await reportLibrary(sandbox);

describe("$filter", () => {
  const all = ["Reports", "Q1.docx", "Q2.docx", "O'Brien & Co.txt", "notes.md"];
  const cases: [string, string[]][] = [
    ["Id eq 2", ["Q1.docx"]],
    ["ID ne 2", all.filter((name) => name !== "Q1.docx")],
    ["Id gt 2 and Id le 4", ["Q2.docx", "O'Brien & Co.txt"]],
    ["Id lt 2 or Id ge 5", ["Reports", "notes.md"]],
    ["not (Id lt 5)", ["notes.md"]],
    ["Id eq 1 or Id eq 2 and Id eq 3", ["Reports"]],
    ["(Id eq 1 or Id eq 2) and Id eq 2", ["Q1.docx"]],
    ["FSObjType eq 1", ["Reports"]],
    ["FileLeafRef eq 'O''Brien & Co.txt'", ["O'Brien & Co.txt"]],
    ["FileLeafRef eq 'NOTES.MD'", ["notes.md"]],
    ["startswith(FileLeafRef,'q')", ["Q1.docx", "Q2.docx"]],
    ["substringof('brien',FileLeafRef)", ["O'Brien & Co.txt"]],
    ["Modified ge datetime'2025-01-15T10:30:00Z' and FSObjType eq 0", ["O'Brien & Co.txt", "notes.md"]],
    ["Modified gt datetime'2025-01-15T10:30:00Z' and FSObjType eq 0", ["notes.md"]],
    ["Modified lt '2024-03-30T00:00:00Z'", ["Reports", "Q1.docx"]],
    ["Department eq 'Finance'", ["Q1.docx", "Q2.docx"]],
    ["Pages gt 10", ["Q1.docx"]],
    ["Pages lt 10", ["Q2.docx"]],
    ["Final eq true", ["Q2.docx"]],
    ["Final eq 1", ["Q2.docx"]],
    ["Department eq null", ["Reports", "notes.md"]],
    ["Department ne null and Pages eq null", ["O'Brien & Co.txt"]],
    ["Due ge datetime'2025-01-31T00:00:00Z'", ["O'Brien & Co.txt"]],
    ["year(Modified) eq 2024 and month(Modified) eq 6", ["Q2.docx"]],
    [`UniqueId eq guid'${library.find(5)?.uniqueId}'`, ["notes.md"]],
  ];
  for (const [filter, expected] of cases) {
    test(filter, async () => {
      assert.deepEqual(await namesOf(`$select=FileLeafRef&$filter=${encodeURIComponent(filter)}`), expected);
    });
  }

  test("plus and %24 mean space and dollar", async () => {
    assert.deepEqual(await namesOf("%24select=FileLeafRef&%24filter=Id+eq+2+or+FileLeafRef+eq+%27notes.md%27"), [
      "Q1.docx",
      "notes.md",
    ]);
  });

  const wrong: [string, string, RegExp][] = [
    ["Colour eq 'red'", "-1, Microsoft.SharePoint.SPException", /^The field or property 'Colour' does not exist\.$/],
    [
      "File/Length gt 3",
      "-1, Microsoft.SharePoint.SPException",
      /^The field or property 'File\/Length' does not exist\.$/,
    ],
    ["Id eq", "-1, Microsoft.SharePoint.Client.InvalidClientQueryException", /^The expression "Id eq" is not valid\.$/],
    ["Id eq 1 and", "-1, Microsoft.SharePoint.Client.InvalidClientQueryException", /not valid/],
    ["(Id eq 1", "-1, Microsoft.SharePoint.Client.InvalidClientQueryException", /not valid/],
    ["Id eq 1)", "-1, Microsoft.SharePoint.Client.InvalidClientQueryException", /not valid/],
    ["endswith(FileLeafRef,'x')", "-1, Microsoft.SharePoint.Client.InvalidClientQueryException", /not valid/],
    ["tolower(FileLeafRef) eq 'x'", "-1, Microsoft.SharePoint.Client.InvalidClientQueryException", /not valid/],
    ["FileLeafRef eq 'O'Brien'", "-1, Microsoft.SharePoint.Client.InvalidClientQueryException", /not valid/],
    ["Modified ge datetime'soon'", "-1, Microsoft.SharePoint.Client.InvalidClientQueryException", /not valid/],
  ];
  for (const [filter, code, message] of wrong) {
    test(`refused: ${filter}`, async () => {
      const error = await errorOf(await api(`${items}?$filter=${encodeURIComponent(filter)}`));
      assert.equal(error.status, 400);
      assert.equal(error.code, code);
      assert.match(error.message, message);
    });
  }
});
