// A table larger than memory is sorted, filtered and paged.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";
import { BadInputError } from "../../src/contracts/errors.ts";
import { encodeCsvRow } from "../../src/lib/csv.ts";
import { readTableWindow, type TableQuery, type TableWindow } from "../../src/reports/table-window.ts";

const NEVER = new AbortController().signal;

function tableOf(text: string, chunkBytes = 7): () => Promise<{ content: AsyncIterable<Uint8Array> }> {
  const bytes = Buffer.from(text);
  return async () => ({
    content: (async function* () {
      for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
    })(),
  });
}

const windowOf = (text: string, wish: Partial<TableQuery>, chunkBytes?: number): Promise<TableWindow> =>
  readTableWindow(tableOf(text, chunkBytes), { sort: undefined, filter: "", offset: 0, limit: 10, ...wish }, NEVER);

const SMALL = 'name,size\r\nb.docx,10\r\na.pdf,9\r\n"c, d.docx",100\r\n';

test("rows as the table has them, sorted by number or text, filtered, in parts", async () => {
  assert.deepEqual(await windowOf(SMALL, {}), {
    columns: ["name", "size"],
    rows: [
      ["b.docx", "10"],
      ["a.pdf", "9"],
      ["c, d.docx", "100"],
    ],
    total: 3,
  });
  const sizes = async (wish: Partial<TableQuery>): Promise<string[]> =>
    (await windowOf(SMALL, wish)).rows.map(([, size]) => size ?? "");
  assert.deepEqual(await sizes({ sort: "size" }), ["9", "10", "100"]);
  assert.deepEqual(await sizes({ sort: "-size" }), ["100", "10", "9"]);
  assert.deepEqual(await sizes({ sort: "name", offset: 1, limit: 1 }), ["10"]);
  assert.deepEqual(await sizes({ filter: "DOCX" }), ["10", "100"]);
  assert.equal((await windowOf(SMALL, { filter: "docx", limit: 1 })).total, 2);
  assert.deepEqual(await sizes({ filter: "docx", sort: "-size", offset: 5 }), []);
});

test("only rows that tell of an error, in whatever column is for that", async () => {
  const text = "name,sharepoint_error,embedding_error\na,,\nb,,too large\nc,gone,\nerror,,\n";
  const names = async (wish: Partial<TableQuery>): Promise<unknown[]> =>
    (await windowOf(text, { failed: true, ...wish })).rows.map(([name]) => name);
  assert.deepEqual(await names({}), ["b", "c"]);
  assert.deepEqual(await names({ sort: "-name" }), ["c", "b"]);
  assert.deepEqual(await names({ filter: "large" }), ["b"]);
  assert.deepEqual((await windowOf(SMALL, { failed: true })).rows, []);
});

test("numbers come before text, whatever the case and the accents", async () => {
  const cells = ["Übung", "b", "10", "A", "9", "-1.5", "", "zebra"];
  const text = ["x", ...cells].map((cell) => `${cell},.\n`).join("");
  const sorted = async (sort: string): Promise<unknown[]> =>
    (await windowOf(text, { sort })).rows.map(([cell]) => cell);
  assert.deepEqual(await sorted("x"), ["-1.5", "9", "10", "", "A", "b", "Übung", "zebra"]);
  assert.deepEqual(await sorted("-x"), ["zebra", "Übung", "b", "A", "", "10", "9", "-1.5"]);
});

test("a column that is not there is refused with those that are, and so is what is no table", async () => {
  await assert.rejects(windowOf(SMALL, { sort: "colour" }), (error: Error) => {
    assert.ok(error instanceof BadInputError);
    assert.match(error.message, /'sort' must be a column of the file, .*: name, size\./);
    return true;
  });
  await assert.rejects(
    windowOf(`a\n"${"x".repeat(3_000_000)}`, {}, 65_536),
    /a row has more than a million characters/,
  );
  assert.deepEqual(await windowOf("", {}), { columns: [], rows: [], total: 0 });
  assert.deepEqual(await windowOf("", { sort: "x" }), { columns: [], rows: [], total: 0 });
});

test("whatever the cells hold and wherever the bytes are cut, it is what sorting everything would show", async () => {
  const cell = fc.oneof(fc.string(), fc.constantFrom('"', "\r\n", ",", "ü", "😀", "10", "9", "=1+1"));
  const row = fc.tuple(cell, cell, fc.nat(20).map(String));
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { maxLength: 40 }),
      fc.record({ offset: fc.nat(30), limit: fc.integer({ min: 1, max: 20 }), chunk: fc.integer({ min: 1, max: 50 }) }),
      fc.constantFrom(undefined, "number", "-number"),
      async (rows, { offset, limit, chunk }, sort) => {
        const text = [["a", "b", "number"], ...rows].map((one) => `${encodeCsvRow(one)}\r\n`).join("");
        const sorted = [...rows];
        const direction = sort === "-number" ? -1 : 1;
        if (sort) sorted.sort((x, y) => direction * (Number(x[2]) - Number(y[2])));
        const { rows: shown, total } = await windowOf(text, { sort, offset, limit }, chunk);
        assert.deepEqual(shown, sorted.slice(offset, offset + limit));
        assert.equal(total, rows.length);
      },
    ),
    { numRuns: 150 },
  );
});

test("far into a sorted table one is told to filter; as it stands, a table is shown to its end", async () => {
  await assert.rejects(windowOf(SMALL, { sort: "size", offset: 19_991 }), (error: Error) => {
    assert.ok(error instanceof BadInputError);
    assert.match(error.message, /up to row 20000\. Filter it, sort the other way, or do not sort\./);
    return true;
  });
  assert.equal((await windowOf(SMALL, { sort: "size", offset: 19_990 })).total, 3);
  assert.equal((await windowOf(SMALL, { offset: 1_000_000 })).total, 3);
});

// 60 MB of rows, 40 MB of heap for everything.
test("a table much larger than the memory it is given is sorted, filtered and paged", async () => {
  const script = join(import.meta.dirname, "large-table.ts");
  const { stdout } = await promisify(execFile)(process.execPath, ["--max-old-space-size=40", script]);
  assert.deepEqual(JSON.parse(stdout), {
    total: 200_000,
    first: ["file-000000.docx", "file-000001.docx"],
    deep: ["file-180001.docx", "file-180000.docx"],
    filtered: { total: 2, names: ["file-012345.docx", "file-112345.docx"] },
  });
});
