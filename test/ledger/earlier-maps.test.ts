// Map files of an earlier release are taken over whole, and kept.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setImmediate as nextRound } from "node:timers/promises";
import type { DomainId, SourceId } from "../../src/contracts/ids.ts";
import type { LedgerEntry, LedgerSource, Ledgers } from "../../src/contracts/ledger.ts";
import { encodeMap, FACETS, mapFile } from "../../src/ledger/exports/map-files.ts";
import { sourceFolder } from "../../src/mirror/layout.ts";
import { ofKind } from "../kinds.ts";
import { entriesOf, facetsOf, id } from "./ledger-fixture.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";

const ITEMS = ["a", "b", "c"];
const HASHES = ITEMS.map((_, n) => String(n).padStart(64, "0"));
const OBSERVED = [
  "sharepoint_unique_file_id,etag,content_version,observed_size,observed_mtime_ms,observed_sha256,embedded_sha256",
  ...ITEMS.map((item, n) => `${item},{${n}};${n},${n},${n},${n},${HASHES[n]},${HASHES[n]}`),
  "",
].join("\r\n");

/** Storage in which an earlier release left map files, and what it kept beside them. */
describe("map files of an earlier release", () => {
  let root: string;
  let ledgers: Ledgers;
  let count = 0;
  before(async () => {
    root = await mkdtemp(join(tmpdir(), "lockstep-earlier-maps-"));
    ledgers = openTestLedgers(root);
  });
  after(async () => {
    await ledgers.close();
    await rm(root, { recursive: true, force: true });
  });

  const plant = async (sourceType: "file_sources" | "folder_sources"): Promise<[LedgerSource, string]> => {
    const source = { domainId: `D${++count}` as DomainId, config: ofKind(sourceType, { sourceId: "s" as SourceId }) };
    const folder = join(root, sourceFolder(source.domainId, source.config));
    await mkdir(join(folder, ".lockstep"), { recursive: true });
    for (const facet of FACETS) await writeFile(join(folder, mapFile(facet)), encodeMap(facet, pages()));
    await writeFile(join(folder, ".lockstep", "observed.csv"), OBSERVED);
    return [source, folder];
  };
  const read = async (folder: string, names: readonly string[]): Promise<string[]> =>
    await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));

  test("are read whole by everybody, also at the moment when a step takes them over", async () => {
    for (let round = 0; round < 4; round++) {
      const [source] = await plant("folder_sources");
      const opening = [ledgers.open(source, { readOnly: false }), ledgers.open(source, { readOnly: false })];
      let isOver = false;
      const taken = Promise.all(opening).finally(() => {
        isOver = true;
      });
      while (!isOver) {
        opening.push(ledgers.open(source, { readOnly: true, isSnapshot: opening.length % 2 === 0 }));
        await nextRound();
      }
      await taken;
      const opened = await Promise.all(opening);
      for (const ledger of opened) {
        const found = await entriesOf(ledger);
        assert.deepEqual(Object.keys(found), ITEMS);
        for (const [n, item] of ITEMS.entries()) assert.deepEqual(found[item], facetsOf(n));
        await ledger.close();
      }
    }
  });

  test("are still there afterwards as they were, in a folder of their own", async () => {
    for (const kind of ["file_sources", "folder_sources"] as const) {
      const [source, folder] = await plant(kind);
      const maps = FACETS.map((facet) => mapFile(facet));
      const [before, observed] = [await read(folder, maps), OBSERVED];
      const ledger = await ledgers.open(source, { readOnly: false });
      ledger.put(id("a"), { seen: facetsOf(9).seen });
      await ledger.close();
      const aside = join(folder, ".lockstep", "before-ledger");
      assert.deepEqual((await readdir(aside)).sort(), [...maps, "observed.csv"].sort());
      assert.deepEqual(await read(aside, [...maps, "observed.csv"]), [...before, observed]);
      const left = (await readdir(folder)).filter((name) => name.endsWith(".csv"));
      assert.deepEqual(left.sort(), kind === "file_sources" ? maps.sort() : []);
    }
  });
});

async function* pages(): AsyncGenerator<LedgerEntry[], void> {
  yield ITEMS.map((item, n) => ({ itemId: id(item), ...facetsOf(n) }));
}
