// Rows of an exported list become documents.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { OriginalItem } from "../../src/contracts/converter.ts";
import { CancelledError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import { createListConverter } from "../../src/sources/sharepoint/lists/list-converter.ts";
import { encodeTableRow, listFileName, listTitleOf } from "../../src/sources/sharepoint/lists/list-export.ts";
import { parseSections } from "../index/whole-sections.ts";

const HEADER = ["ID", "Title", "Budget [€]", "Notes", "Created", "Modified", "Created By", "Modified By"];
const TIMES = ["2024-01-01 00:00:00", "2024-02-02 00:00:00"];
const PEOPLE = ["Ada <ada@x.org>", "Bo"];

function itemOf(id: number, itemId = `item-${id}`): OriginalItem {
  return { itemId: itemId as ItemId, listItemId: id, name: `${id}.md` };
}

describe("rows of an exported list become documents", () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-test-"));
  });
  after(() => rm(folder, { recursive: true }));

  /** What becomes of each item: its Markdown, or the problem. */
  async function convert(
    text: string,
    items: readonly OriginalItem[],
    options: { readonly list?: string; readonly signal?: AbortSignal } = {},
  ): Promise<Record<string, string>> {
    const path = join(folder, listFileName(options.list ?? "Projects"));
    await writeFile(path, text);
    const answers: [string, string][] = [];
    const signal = options.signal ?? new AbortController().signal;
    for await (const each of createListConverter().convert(path, items, signal)) {
      answers.push([each.itemId, "document" in each ? Buffer.from(each.document).toString() : `! ${each.problem}`]);
    }
    assert.equal(answers.length, new Set(answers.map(([id]) => id)).size, "one answer an item");
    return Object.fromEntries(answers);
  }

  const table = (...rows: readonly (readonly string[])[]): string => [HEADER, ...rows].map(encodeTableRow).join("");
  const row = (id: number, title: string, budget = "", notes = ""): string[] => {
    return [String(id), title, budget, notes, ...TIMES, ...PEOPLE];
  };

  it("writes a heading and a bullet for every value", async () => {
    const text = table(row(1, "Bridge", "1200.5", "Over the river"), row(2, "", "", ""), row(3, "Not wanted"));
    assert.deepEqual(await convert(text, [itemOf(2), itemOf(1)]), {
      "item-1": `### "Projects" - Bridge

- Title: Bridge
- Budget: € 1200.5
- Notes: Over the river
- Created By: Ada <ada@x.org>
- Modified By: Bo
`,
      "item-2": `### "Projects" - Item 2

- Created By: Ada <ada@x.org>
- Modified By: Bo
`,
    });
  });

  it("answers for every item, also for rows that are missing or broken", async () => {
    const text = `${table(row(1, "A"))}2,too short\n`;
    const answers = await convert(text, [itemOf(1), itemOf(2), itemOf(9), itemOf(1, "twin")]);
    assert.match(answers["item-1"] ?? "", /- Title: A/);
    assert.equal(answers["twin"], answers["item-1"]);
    assert.match(answers["item-2"] ?? "", /^! .*2 values for 8 columns/);
    assert.match(answers["item-9"] ?? "", /^! .*no row of this item/);
  });

  it("refuses a file that is no export", async () => {
    await assert.rejects(convert("", [itemOf(1)]), /read the export 'Projects.csv': it is empty/);
    await assert.rejects(convert("a,b\n1,2\n", [itemOf(1)]), /not the header of a list/);
    const nowhere = createListConverter().convert(join(folder, "no.csv"), [itemOf(1)], new AbortController().signal);
    await assert.rejects(nowhere[Symbol.asyncIterator]().next(), /read the export 'no.csv': ENOENT/);
  });

  it("stops when told to", async () => {
    const stopped = AbortSignal.abort(new CancelledError("enough"));
    await assert.rejects(convert(table(row(1, "A")), [itemOf(1)], { signal: stopped }), /enough/);
  });

  it("reads what a spreadsheet made of it", async () => {
    const text = `\ufeff${table(row(1, "Ä", "-5", 'two "quoted"\nlines')).replaceAll(/\n(?=\d|ID|$)/g, "\r\n")}`;
    const answers = await convert(text, [itemOf(1)]);
    assert.match(answers["item-1"] ?? "", /- Title: Ä\n- Budget: € -5\n- Notes: two "quoted"\n {2}lines\n/);
  });

  it("takes values for text, whatever they look like", async () => {
    const notes = [
      "first",
      "",
      "# heading",
      "- bullet",
      "1. number",
      "```",
      "~~~ code",
      "> quote",
      "---",
      "===",
      "| a | b |",
      "|---|---|",
      "<!-- page 7 -->",
      "<script>alert(1)</script>",
      "nul \u0000 and \u202eright to left",
    ].join("\r\n");
    const text = table(row(1, "## A\n# B #", "=1+1", notes), row(2, "next"));
    const answers = await convert(text, [itemOf(1)], { list: 'A "list" #' });
    const markdown = answers["item-1"] ?? "";
    const [section, ...more] = parseSections(markdown).children;
    assert.deepEqual(more, []);
    assert.equal(section?.heading, '"A "list" #" - ## A # B \\#');
    assert.deepEqual(section?.children, []);
    const bullets = markdown.split("\n").filter((line) => line.startsWith("- "));
    assert.deepEqual(
      bullets.map((line) => line.slice(0, line.indexOf(":"))),
      ["- Title", "- Budget", "- Notes", "- Created By", "- Modified By"],
    );
    for (const line of markdown.split("\n").slice(6, -3)) assert.match(line, /^ {2}(\\|\d+\\\.|nul)/);
    assert.match(markdown, /\n- Budget: =1\+1\n/);
    assert.match(markdown, /\n {2}nul {2}and \u202eright to left\n/);
    assert.ok(!markdown.includes("\u0000"));
  });

  it("finds its way between documents and originals", () => {
    const converter = createListConverter();
    assert.equal(converter.documentPath(itemOf(5), "Projects.csv"), "5.md");
    assert.equal(converter.originalPath(itemOf(5), "5.md", new Set(["Projects.csv"])), "Projects.csv");
    assert.equal(converter.originalPath(itemOf(5), "5.md", new Set()), undefined);
    const attachment = itemOf(5, "guid/5.md");
    assert.equal(converter.originalPath(attachment, "attachments/5/5.md", new Set(["Projects.csv"])), undefined);
  });

  it("reads the title of a list back from its file", () => {
    for (const title of [
      "Projects",
      "a/b\\c",
      "..",
      " x. ",
      "100% %2F",
      "CON",
      "nul.txt",
      "O'Neil #1 ü😀",
      "a\u0000\n",
    ]) {
      const name = listFileName(title);
      assert.equal(listTitleOf(name), title);
      assert.doesNotMatch(name, /[/\\:*?"<>|\n]|^\.|^(con|nul)\b/i);
    }
    const long = listFileName("ß".repeat(255));
    assert.ok(Buffer.byteLength(long) < 240);
    assert.notEqual(long, listFileName(`${"ß".repeat(254)}s`));
  });
});
