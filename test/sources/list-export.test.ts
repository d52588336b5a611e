// The export of a list holds its rows, safe for spreadsheets.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { encodeTableRow, exportTable, RowSpool, readTable } from "../../src/sources/sharepoint/lists/list-export.ts";
import { readAll } from "./scripted-tenant.ts";

const TAIL = ["Created", "Modified", "Created By", "Modified By"];
const NOW = ["ID", "Title", "Colour", "Size", ...TAIL];

const rowOf = (id: number, title: string, colour = "", size = ""): string[] => {
  return [String(id), title, colour, size, "c", "m", "a", "e"];
};

describe("the export of a list", () => {
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-test-"));
  });
  after(() => rm(folder, { recursive: true }));

  /** The lines of an export of these listed rows, after an export with the earlier content. */
  async function exported(
    listed: readonly (readonly string[])[],
    earlier: { readonly text?: string; readonly keep?: readonly number[] } = {},
  ): Promise<string> {
    const path = join(folder, "before.csv");
    if (earlier.text !== undefined) await writeFile(path, earlier.text);
    const spool = await RowSpool.open();
    try {
      for (const cells of listed) await spool.append(encodeTableRow(cells), [Number(cells[0])]);
      const before = earlier.text === undefined ? undefined : path;
      return await readAll(exportTable(NOW, spool, { path: before, keep: new Set(earlier.keep) }));
    } finally {
      await spool.close();
    }
  }

  const table = (titles: readonly string[], ...rows: string[][]): string => {
    return [titles, ...rows].map(encodeTableRow).join("");
  };

  it("is a header and the listed rows", async () => {
    const rows = [rowOf(1, "One", "red", "5"), rowOf(2, "Two", 'a "b", c', "line\nline")];
    assert.equal(
      await exported(rows),
      `ID,Title,Colour,Size,Created,Modified,Created By,Modified By
1,One,red,5,c,m,a,e
2,Two,"a ""b"", c","line
line",c,m,a,e
`,
    );
    assert.equal(await exported([]), table(NOW));
  });

  it("quotes what a spreadsheet would take for a formula, and numbers never", () => {
    assert.equal(
      encodeTableRow(["=1+1", "+a", "@b", "-c", "-5", "-1.5e-7", "\tx", "+49 30"]),
      `"=1+1","+a","@b","-c",-5,-1.5e-7,"\tx","+49 30"\n`,
    );
  });

  it("takes rows to be kept from the export before, among the others by their ids", async () => {
    const before = table(NOW, rowOf(1, "old"), rowOf(2, "Two", "blue", "=2"), rowOf(4, "gone"), rowOf(7, "Seven"));
    const text = await exported([rowOf(1, "new"), rowOf(3, "Three")], { text: before, keep: [1, 2, 7, 9] });
    const ids = text.split("\n").map((line) => line.split(",").slice(0, 2).join());
    assert.deepEqual(ids, ["ID,Title", "1,new", "2,Two", "3,Three", "7,Seven", ""]);
    assert.match(text, /\n2,Two,blue,"=2",c,m,a,e\n/);
  });

  it("puts kept values below the titles of now", async () => {
    const titles = ["ID", "Titel", "Shape", "Size", "Erstellt", "Geändert", "Erstellt von", "Geändert von"];
    const text = await exported([], { text: table(titles, rowOf(2, "Two", "round", "9")), keep: [2] });
    assert.equal(text, table(NOW, rowOf(2, "Two", "", "9")));
  });

  it("goes on without an export that is gone or makes no sense", async () => {
    const listed = [rowOf(1, "One", "", "")];
    for (const text of ["", "garbage", `"${"x,".repeat(9)}`]) {
      assert.equal(await exported(listed, { text, keep: [5] }), table(NOW, ...listed));
    }
    const spool = await RowSpool.open();
    const nowhere = exportTable(NOW, spool, { path: join(folder, "nowhere.csv"), keep: new Set([5]) });
    assert.equal(await readAll(nowhere), table(NOW));
    await spool.close();
  });

  it("reads back what it wrote, wherever the pieces are cut", async () => {
    const rows = [NOW, rowOf(1, "ü😀", 'say "hi"\r\nto, all', ""), rowOf(2, "", '"', ",")];
    const bytes = Buffer.from(rows.map(encodeTableRow).join(""));
    for (const size of [1, 2, 3, 7, 1000]) {
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      };
      const read: string[][] = [];
      for await (const some of readTable(pieces())) read.push(...some);
      assert.deepEqual(read, rows);
    }
  });
});
