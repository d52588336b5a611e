// Columns of a list are shown as a person reads them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fieldGroups } from "../../src/sources/sharepoint/lists/field-groups.ts";
import { decodeFields } from "../../src/sources/sharepoint/lists/find-list.ts";
import { type Column, chooseColumns } from "../../src/sources/sharepoint/lists/list-columns.ts";
import { columnText } from "../../src/sources/sharepoint/lists/list-row.ts";

type Field = Readonly<Record<string, unknown>>;

const field = (type: string, more: Field = {}): Field => {
  return { InternalName: "X", Title: "X", TypeAsString: type, Hidden: false, ReadOnlyField: false, ...more };
};

function columnsOf(...fields: Field[]): Column[] {
  return chooseColumns(decodeFields({ value: fields }));
}

const headings = (...fields: Field[]): string[] => columnsOf(...fields).map((column) => column.heading);

/** type and value as SharePoint sends them, and what a person reads. */
const TEXTS: readonly (readonly [title: string, field: Field, value: unknown, text: string])[] = [
  ["text", field("Text"), " plain ", "plain"],
  ["text with characters no file should hold", field("Text"), "a\u0000b\u001fc\r\nd\ud800", "abc\nd\ufffd"],
  ["nothing", field("Text"), null, ""],
  ["number", field("Number"), 12.5, "12.5"],
  ["zero", field("Number"), 0, "0"],
  ["currency", field("Currency"), -1200, "-1200"],
  ["yes", field("Boolean"), true, "True"],
  ["no", field("Boolean"), false, "False"],
  ["date and time", field("DateTime", { DisplayFormat: 1 }), "2024-05-01T22:30:15Z", "2024-05-01 22:30:15"],
  ["day in Berlin", field("DateTime", { DisplayFormat: 0 }), "2024-04-30T22:00:00Z", "2024-05-01 00:00:00"],
  ["day in London", field("DateTime", { DisplayFormat: 0 }), "2024-05-01T00:00:00Z", "2024-05-01 00:00:00"],
  ["day in Honolulu", field("DateTime", { DisplayFormat: 0 }), "2024-05-01T10:00:00Z", "2024-05-01 00:00:00"],
  ["day in Auckland", field("DateTime", { DisplayFormat: 0 }), "2024-04-30T11:00:00Z", "2024-05-01 00:00:00"],
  ["no date", field("DateTime"), "soon", "soon"],
  ["choice", field("Choice"), "Option B", "Option B"],
  ["choices", field("MultiChoice"), ["A", "B"], "A|B"],
  ["choices, verbose", field("MultiChoice"), { results: ["A", "B"] }, "A|B"],
  ["lookup", field("Lookup", { LookupField: "Name" }), { Id: 1, Name: "Oslo" }, "Oslo"],
  ["lookup of a number", field("Lookup", { LookupField: "ID" }), { Id: 7, ID: 7 }, "7"],
  ["lookup of nothing", field("Lookup"), { "odata.null": true }, ""],
  ["lookups", field("LookupMulti"), [{ Title: "Oslo" }, { Title: "Bergen" }], "Oslo|Bergen"],
  ["person", field("User"), { Title: "Ada", EMail: "ada@x.org" }, "Ada <ada@x.org>"],
  ["person whose mail is known otherwise", field("User"), { Id: 5, Title: "Eve" }, "Eve <five@x>"],
  ["group", field("User"), { Title: "Owners", EMail: "" }, "Owners"],
  ["people", field("UserMulti"), [{ Title: "Ada", EMail: "a@x" }, { Title: "Bo" }], "Ada <a@x>; Bo"],
  ["link", field("URL"), { Url: "https://x.org/a?b=1", Description: "X" }, "https://x.org/a?b=1"],
  ["term by number", field("TaxonomyFieldType"), { Label: "3", TermGuid: "g", WssId: 3 }, "Dutch"],
  ["term by text", field("TaxonomyFieldType"), { Label: "Greek", TermGuid: "g", WssId: 3 }, "Greek"],
  [
    "terms",
    field("TaxonomyFieldTypeMulti"),
    [
      { Label: "A", WssId: 1 },
      { Label: "B", WssId: 2 },
    ],
    "A|B",
  ],
  ["calculated text", field("Calculated"), "string;#a;#b", "a;#b"],
  ["calculated number", field("Calculated"), "float;#12.5000000000", "12.5"],
  ["calculated truth", field("Calculated"), "boolean;#1", "True"],
  ["calculated, plain", field("Calculated"), "as it is", "as it is"],
  ["note", field("Note", { RichText: false }), "a <b> c", "a <b> c"],
  [
    "rich note",
    field("Note", { RichText: true }),
    "<div>One&nbsp;two<br>three</div><p>four &amp; five</p>",
    "One two\nthree\nfour & five",
  ],
  ["rich list", field("Note", { RichText: true }), "<ul>\n<li>a</li>\n <li><b>b</b></li></ul>", "• a\n• b"],
  ["rich table", field("Note", { RichText: true }), "<table><tr><td>a</td><td>b</td></tr></table>", "a b"],
  ["rich with script", field("Note", { RichText: true }), "<p>a</p><script>x()</script>\u200b", "a"],
  ["note that does not tell", field("Note"), '<div class="ExternalClass1"><p>x</p></div>', "x"],
  [
    "note that only looks like it",
    field("Note"),
    "<p> is a tag, and 1 > 0 is true.",
    "<p> is a tag, and 1 > 0 is true.",
  ],
  ["place on earth", field("Geolocation"), { Latitude: 59.9, Longitude: 10.7 }, "59.9, 10.7"],
  ["place", field("Location"), '{"DisplayName":"Oslo S","Address":{}}', "Oslo S"],
  ["picture", field("Thumbnail"), '{"fileName":"a.png"}', "a.png"],
  ["a type nobody knows", field("Wonder"), { a: 1 }, ""],
];

describe("columns of a list", () => {
  for (const [title, description, value, text] of TEXTS) {
    it(`show what a person reads: ${title}`, () => {
      const column = columnsOf(description)[2];
      assert.ok(column);
      assert.equal(
        columnText(column, { X: value }, { terms: new Map([[3, "Dutch"]]), emails: new Map([[5, "five@x"]]) }),
        text,
      );
    });
  }

  it("come in the order of the export, without what nobody filled in", () => {
    const own = ["Zeta", "alpha", "Beta"].map((name) => field("Text", { InternalName: name, Title: name }));
    const others = [
      field("Text", { InternalName: "Hid", Title: "Hid", Hidden: true }),
      field("Text", { InternalName: "_Odd", Title: "Odd" }),
      field("Lookup", { InternalName: "City_x003a_Land", Title: "City:Land", ReadOnlyField: true }),
      field("Computed", { InternalName: "LinkTitle", Title: "Title" }),
      field("Calculated", { InternalName: "Sum", Title: "Sum", ReadOnlyField: true }),
      field("DateTime", { InternalName: "Modified", Title: "Geändert", ReadOnlyField: true }),
      field("Text", { InternalName: "Title", Title: "Aufgabe" }),
    ];
    assert.deepEqual(headings(...own, ...others), [
      ...["ID", "Aufgabe", "alpha", "Beta", "Sum", "Zeta"],
      ...["Created", "Geändert", "Created By", "Modified By"],
    ]);
  });

  it("never share a title", () => {
    const named = (name: string, title: string): Field => field("Text", { InternalName: name, Title: title });
    assert.deepEqual(headings(named("Status", "Status"), named("Status0", "status"), named("ID0", "ID")).slice(0, 5), [
      ...["ID", "Title", "ID (ID0)", "Status", "status (Status0)"],
    ]);
  });

  it("tell their currency, and none they do not know", () => {
    const money = (name: string, locale: number): Field =>
      field("Currency", { InternalName: name, Title: name, CurrencyLocaleId: locale });
    assert.deepEqual(headings(money("a", 1033), money("b", 1031), money("c", 4105), money("d", 99999)).slice(2, 6), [
      ...["a [$]", "b [€]", "c [CA$]", "d"],
    ]);
  });

  it("are asked for a few lookups at a time, and in addresses of bounded length", () => {
    const lookups = Array.from({ length: 30 }, (_, i) => field("Lookup", { InternalName: `L${i}`, Title: `L${i}` }));
    const texts = Array.from({ length: 200 }, (_, i) => {
      const name = `Column_x0020_number_x0020_${i}`;
      return field("Text", { InternalName: name, Title: name });
    });
    const groups = fieldGroups(columnsOf(...lookups, ...texts), {
      attachments: true,
      touchCount: true,
      safe: false,
    });
    const asked = groups.flatMap((group) => /\$select=([^&]*)/.exec(group)?.[1]?.split(",") ?? []);
    for (const { property } of [...columnsOf(...lookups), ...columnsOf(...texts)].filter((each) => each.property)) {
      assert.ok(
        asked.some((path) => path.split("/")[0] === property),
        property,
      );
    }
    for (const [at, group] of groups.entries()) {
      const expands = /\$expand=([^&]*)/.exec(group)?.[1]?.split(",") ?? [];
      assert.ok(expands.length <= 12, `${expands.length} expansions`);
      assert.ok(group.length < 2200, `${group.length} characters`);
      assert.match(group, at === 0 ? /\$select=Id,UniqueId,.*AttachmentFiles/ : /\$select=Id,/);
    }
  });
});
