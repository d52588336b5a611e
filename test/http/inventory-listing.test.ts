// A part of a backend's list is read no further than needed, within a bound.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listPart, MAX_SCANNED_ROWS } from "../../src/http/inventory/list-part.ts";
import type { Listing } from "../../src/http/routing/listing.ts";
import type { PageQuery } from "../../src/inventory/inventory.ts";

interface Row {
  readonly id: string;
  readonly created_at: number;
  readonly name: string;
}

const OPTIONS = { noun: "files", largestPage: 100 };
const ALL: Listing = { limit: undefined, offset: 0, sort: undefined, filter: "" };

/** A backend with so many rows, which counts what it was asked for. */
function backend(total: number) {
  const asked = { pages: 0, rows: 0, sizes: new Set<number>() };
  const nameOf = (at: number): string => (at % 1000 === 999 ? `needle ${at}` : `row ${total - at}`);
  async function* pages({ order, pageSize }: PageQuery): AsyncGenerator<readonly Row[], void> {
    asked.sizes.add(pageSize);
    for (let start = 0; start < total; start += pageSize) {
      const places = Array.from({ length: Math.min(pageSize, total - start) }, (_, i) => start + i);
      const rows = places.map((place) => (order === "asc" ? place : total - 1 - place));
      asked.pages++;
      asked.rows += rows.length;
      yield rows.map((at) => ({ id: `id-${at}`, created_at: at, name: nameOf(at) }));
    }
  }
  return { pages, asked };
}

describe("a part of a list of the backend", () => {
  it("reads as far as it takes and no further", async () => {
    const { pages, asked } = backend(50_000);
    const { data, page } = await listPart(pages, { ...ALL, limit: 20, offset: 10 }, OPTIONS);
    assert.deepEqual([data.length, data[0]?.created_at], [20, 49_989]);
    assert.deepEqual(page, { offset: 10, limit: 20, total: undefined, more: true });
    assert.deepEqual([asked.pages, [...asked.sizes]], [1, [31]]);
  });

  it("reads the list the other way round for the oldest", async () => {
    const { pages } = backend(1000);
    const { data } = await listPart(pages, { ...ALL, limit: 2, sort: "created_at" }, OPTIONS);
    assert.deepEqual(
      data.map((row) => row.created_at),
      [0, 1],
    );
  });

  it("reads on until a filter found enough", async () => {
    const { pages, asked } = backend(50_000);
    const { ok, data, page } = await listPart(pages, { ...ALL, limit: 3, filter: "NEEDLE" }, OPTIONS);
    assert.deepEqual(
      data.map(({ name }) => name),
      ["needle 49999", "needle 48999", "needle 47999"],
    );
    assert.deepEqual([ok, page?.more, page?.total], [true, true, undefined]);
    assert.equal(asked.rows, 3100);
  });

  it("stops looking for a filter at the bound, and says so", async () => {
    const { pages, asked } = backend(50_000);
    const { ok, error, data } = await listPart(pages, { ...ALL, limit: 50, filter: "needle" }, OPTIONS);
    assert.deepEqual([ok, data.length], [false, 20]);
    assert.match(error, /only the 20000 newest were searched/);
    assert.ok(asked.rows <= MAX_SCANNED_ROWS + 100);
  });

  it("sorts within the bound by what the backend does not sort by, and says when there is more", async () => {
    const few = await listPart(backend(300).pages, { ...ALL, limit: 2, sort: "name" }, OPTIONS);
    assert.deepEqual([few.data.map(({ name }) => name), few.page?.total], [["row 1", "row 2"], 300]);
    const many = await listPart(backend(50_000).pages, { ...ALL, limit: 2, sort: "-name" }, OPTIONS);
    assert.deepEqual([many.ok, many.data.length], [false, 2]);
    assert.match(many.error, /only the 20000 newest were sorted/);
  });

  it("gives all of it when nobody asked for a part", async () => {
    const { data, page, ok } = await listPart(backend(25_000).pages, { ...ALL, filter: "row" }, OPTIONS);
    assert.deepEqual([data.length, page, ok], [24_975, undefined, true]);
  });
});
