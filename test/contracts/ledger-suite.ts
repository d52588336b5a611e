import assert from "node:assert/strict";
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, type TestContext, test } from "node:test";
import fc from "fast-check";
import type { FileId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { Ledger, LedgerEntry } from "../../src/contracts/ledger.ts";
import type { Sighting } from "../../src/contracts/source.ts";
import { changesOf, type LedgerTask, SETTLES_EVERY } from "../ledger/ledger-child.ts";
import {
  AT,
  entriesOf,
  type Facets,
  facetsOf,
  id,
  indexed,
  mirrored,
  plain,
  seen,
  sorted,
} from "../ledger/ledger-fixture.ts";
import {
  exportMaps,
  type LedgerPlace,
  leaseStep,
  ledgerVersion,
  loseMemory,
  openForDryRun,
  openLedger,
  renameDomain,
} from "../ledger/ledger-place.ts";
import { saveWhileWritten } from "../ledger/save-while-written.ts";

const CHILD = join(import.meta.dirname, "../ledger/ledger-child.ts");
const MAPS = ["sharepoint_map.csv", "files_map.csv", "vectorstore_map.csv"] as const;
type MapName = (typeof MAPS)[number];
const FACETS = { "sharepoint_map.csv": "seen", "files_map.csv": "mirrored", "vectorstore_map.csv": "indexed" } as const;

/** As objects, 50,000 entries take some 200 MB. */
const HEAP_MB = 64;

/** Exactly the columns of the specification. */
const HEADERS: Readonly<Record<MapName, string>> = {
  "sharepoint_map.csv":
    "sharepoint_listitem_id,sharepoint_unique_file_id,filename,file_type,file_size,url,raw_url,server_relative_url,last_modified_utc,last_modified_timestamp",
  "files_map.csv":
    "sharepoint_listitem_id,sharepoint_unique_file_id,filename,file_type,server_relative_url,file_relative_path,file_size,last_modified_utc,last_modified_timestamp,downloaded_utc,downloaded_timestamp,sharepoint_error,processing_error",
  "vectorstore_map.csv":
    "openai_file_id,vector_store_id,file_relative_path,sharepoint_listitem_id,sharepoint_unique_file_id,filename,file_type,file_size,last_modified_utc,last_modified_timestamp,downloaded_utc,downloaded_timestamp,uploaded_utc,uploaded_timestamp,embedded_utc,embedded_timestamp,sharepoint_error,processing_error,embedding_error",
};

const NAMES: readonly string[] = [
  "Übersicht.txt".normalize("NFC"),
  "Übersicht.txt".normalize("NFD"),
  "readme.txt",
  "README.TXT",
  'say "hello", twice.txt',
  '"',
  "line\nfeed.txt",
  "carriage\rreturn.txt",
  "line\r\nend.txt",
  "=1+1.txt",
  "@SUM(A1).txt",
  "tab\t.txt",
  " spaces around ",
  "\uFEFFbom.txt",
  "日本語.txt",
  "\u{1f600}\u{20bb7}.txt",
  "\u2028\u2029.txt",
  "__proto__",
  "constructor",
  "100%_'; DROP TABLE item; --",
  "no extension",
  `${"x".repeat(30_000)}.txt`,
];

type NewPlace = (t: TestContext) => Promise<LedgerPlace>;

/** What every ledger promises; `newPlace` gives one with nothing in it, and `many` entries are more than the heap may hold. */
export function ledgerSuite(
  name: string,
  newPlace: NewPlace,
  { many = 5000, runs = 40 }: { readonly many?: number; readonly runs?: number } = {},
): void {
  describe(`the ledger in ${name}`, () => {
    describe("entries", () => entriesCases(newPlace, runs));
    describe("map files", () => mapCases(newPlace));
    describe("foreign edits of map files", () => foreignCases(newPlace));
    describe("runs that are killed, and runs side by side", () => processCases(newPlace, many));
  });
}

function entriesCases(newPlace: NewPlace, numRuns: number): void {
  test("what was put is read again, by item, in the order asked for, and in pages", async (t) => {
    const place = await newPlace(t);
    const ledger = await filled(place, { a: facetsOf(1), b: { seen: facetsOf(2).seen }, c: facetsOf(3) });
    const { ledger: again } = await openLedger(place, { step: "embed" });
    for (const open of [ledger, again]) {
      assert.deepEqual(await factsOf(open, "a"), facetsOf(1));
      assert.deepEqual(await factsOf(open, "b"), { seen: facetsOf(2).seen, mirrored: null, indexed: null });
      assert.equal(await open.get(id("nobody")), undefined);
      const many = await open.getMany(["c", "nobody", "a", "c"].map(id));
      assert.deepEqual(
        many.map((entry) => entry && [entry.itemId, plain(entry)]),
        [["c", facetsOf(3)], undefined, ["a", facetsOf(1)], ["c", facetsOf(3)]],
      );
      assert.deepEqual(await open.getMany([]), []);
      assert.deepEqual(Object.keys(await entriesOf(open)), ["a", "b", "c"]);
      assert.deepEqual((await gather(open.items())).sort(), ["a", "b", "c"]);
      assert.deepEqual(await filesOf(open), { a: fileOf(1), c: fileOf(3) });
    }
  });

  test("many are read in any order, with gaps, twice, and without those of others", async (t) => {
    const place = await newPlace(t);
    const names = Array.from({ length: 300 }, (_, n) => `n${(n * 7) % 300}`);
    const ledger = await filled(place, Object.fromEntries(names.map((name, n) => [name, facetsOf(n)])));
    for (const gone of ["n0", names[150] ?? ""]) ledger.put(id(gone), { seen: null, mirrored: null, indexed: null });
    await ledger.flush();
    const left = new Set((await gather(ledger.items())) as string[]);
    assert.equal(left.size, 298);
    for (const asked of [
      names,
      names.slice(40, 140),
      names.toReversed(),
      names.filter((_, n) => n % 3 === 1),
      [...names.slice(0, 99), "nobody", ...names.slice(99)],
      [...names.slice(10, 90), names[250] ?? "", ...names.slice(90, 100)],
      [...names.slice(50), ...names.slice(0, 60)],
    ]) {
      const found = await ledger.getMany(asked.map(id));
      const expected = asked.map((name) => (left.has(name) ? facetsOf(names.indexOf(name)) : undefined));
      assert.deepEqual(
        found.map((entry) => entry && plain(entry)),
        expected,
      );
      assert.deepEqual(
        found.map((entry) => entry?.itemId),
        asked.map((name) => (left.has(name) ? name : undefined)),
      );
    }
  });

  test("states, labels and counts say in short what the entries say", async (t) => {
    const place = await newPlace(t);
    const ledger = await filled(place, { a: facetsOf(1), b: { seen: facetsOf(2).seen }, c: facetsOf(3) });
    ledger.put(id("c"), { indexed: null, mirrored: { ...mirrored, file: "" } });
    ledger.put(id("d"), { ...facetsOf(4), seen: null });
    const states = await gather(ledger.states());
    const files = Object.fromEntries(states.map(({ itemId, file, isListed }) => [itemId, [file, isListed]]));
    assert.deepEqual(files, { a: [fileOf(1), true], b: [null, true], c: ["", true], d: [fileOf(4), false] });
    assert.deepEqual({ ...(await ledger.count()) }, { items: 4, files: 2, indexed: 2 });
    assert.equal(await ledger.countFiles(), 2);
    assert.deepEqual(await ledger.filesAmong([fileOf(2), fileOf(4), fileOf(1), ""]), new Set([fileOf(1), fileOf(4)]));
    assert.deepEqual(
      (await ledger.labels(["nobody", "c", "b", "a", "a"].map(id))).map((label) => label?.itemId),
      [undefined, undefined, undefined, "a", "a"],
    );
    await ledger.close();
  });

  test("an item is unchanged only if every field that a listing tells is as it was, and its file was fetched so", async (t) => {
    const place = await newPlace(t);
    const { seen: listed, mirrored: fetched } = facetsOf(1);
    assert.ok(listed && fetched);
    const { fingerprint } = fetched;
    const variants: Readonly<Record<string, Partial<Facets>>> = {
      unseen: { seen: null },
      unfetched: { mirrored: null },
      "without a place": { mirrored: { ...fetched, file: "" } },
      unhashed: { mirrored: { ...fetched, observed: null } },
      failed: { mirrored: { ...fetched, sourceError: "refused" } },
      withheld: { seen: { ...listed, withheld: true } },
      "fetched under another name": { mirrored: { ...fetched, name: "old.txt" } },
      "fetched elsewhere": { mirrored: { ...fetched, serverPath: "/sites/demo/old/1.txt" } },
      "fetched with another size": { mirrored: { ...fetched, fingerprint: { ...fingerprint, size: 2 } } },
      "fetched at another time": { mirrored: { ...fetched, fingerprint: { ...fingerprint, modifiedAt: "" } } },
      "fetched with another etag": { mirrored: { ...fetched, fingerprint: { ...fingerprint, etag: "" } } },
      "fetched in another version": { mirrored: { ...fetched, fingerprint: { ...fingerprint, contentVersion: "" } } },
    };
    const puts = Object.entries(variants).map(([name, change]) => [name, { ...facetsOf(1), ...change }] as const);
    const ledger = await filled(place, { same: facetsOf(1), put: facetsOf(1), ...Object.fromEntries(puts) });
    ledger.put(id("put"), { seen: { ...listed, rawUrl: "https://elsewhere.example/1.txt" } });
    const found = async (item: string, change: Partial<Sighting> = {}): Promise<unknown> =>
      (await ledger.unchangedFiles([{ ...sightingOf(item, facetsOf(1)), ...change }]))[0];
    const file = { file: fileOf(1), size: 1, mtimeMs: 1 };
    assert.deepEqual(await found("same"), file);
    for (const name of ["put", "nobody", ...Object.keys(variants)]) assert.equal(await found(name), undefined, name);
    const others: readonly Partial<Sighting>[] = [
      { listItemId: 2 },
      { name: "2.txt" },
      { serverPath: "/sites/demo/2.txt" },
      { rawUrl: "https://elsewhere.example/1.txt" },
      { withheld: "a draft" },
      { contentHash: "ab".repeat(32) },
      { fingerprint: { ...fingerprint, size: 2 } },
      { fingerprint: { ...fingerprint, modifiedAt: "2024-01-15T10:30:01.000000Z" } },
      { fingerprint: { ...fingerprint, etag: "" } },
      { fingerprint: { ...fingerprint, contentVersion: "" } },
      { fingerprint: { ...fingerprint, contentVersion: "1x" } },
    ];
    for (const change of others) assert.equal(await found("same", change), undefined, JSON.stringify(change));
    const { sha256 = "" } = fetched.observed ?? {};
    assert.deepEqual(await found("same", { contentHash: sha256 }), file, "the bytes that the source read");
    // The same text in all, and other fields.
    const broken = { name: "a", serverPath: "/b\n/c", rawUrl: "d", etag: "e" };
    const twisted = { name: "a", serverPath: "/b", rawUrl: "/c\nd", etag: "e" };
    ledger.put(id("broken"), {
      seen: { ...listed, ...broken },
      mirrored: { ...fetched, ...broken, fingerprint: { ...fingerprint, etag: broken.etag } },
    });
    await ledger.flush();
    const sighting = { ...twisted, fingerprint: { ...fingerprint, etag: twisted.etag } };
    assert.equal(await found("broken", sighting), undefined);
    await ledger.close();
  });

  test("unchanged files and labels come in the order that was asked for, however items are numbered", async (t) => {
    const place = await newPlace(t);
    const facets = new Map(Array.from({ length: 400 }, (_, n): [string, Facets] => [`i${n}`, facetsOf(n)]));
    const ledger = await filled(place, Object.fromEntries(facets));
    const names = [...facets.keys()];
    const far = [...names.slice(300, 399), "i2", "nobody", ...names.slice(100, 200), "i399", "i1"];
    for (const asked of [names, names.toReversed(), far, names.slice(0, 10), []]) {
      const sightings = asked.map((name) => sightingOf(name, facets.get(name) ?? facetsOf(0)));
      const files = (await ledger.unchangedFiles(sightings)).map((found) => found?.file);
      assert.deepEqual(
        files,
        asked.map((name) => facets.get(name)?.mirrored?.file),
      );
      const labels = (await ledger.labels(asked.map(id))).map((label) => label?.fileId);
      assert.deepEqual(
        labels,
        asked.map((name) => facets.get(name)?.indexed?.fileId),
      );
    }
    await ledger.close();
  });

  test("what changed after a revision is told, whichever facet it was, and nothing else", async (t) => {
    const place = await newPlace(t);
    const ledger = await filled(place, { a: facetsOf(1), b: facetsOf(2), c: facetsOf(3), d: facetsOf(4) });
    const { revision } = ledger;
    assert.deepEqual(await ledger.changedSince(revision, []), []);
    ledger.put(id("a"), { seen: { ...seen, name: "other.txt" } });
    ledger.put(id("b"), { mirrored: { ...mirrored, sourceError: "lost" } });
    ledger.put(id("c"), { indexed: { ...indexed, embeddingError: "no text" } });
    ledger.put(id("d"), facetsOf(4));
    await ledger.flush();
    assert.deepEqual([...(await ledger.changedSince(revision, []))].sort(), ["a", "b", "c"]);
    assert.ok(ledger.revision > revision);
    await ledger.close();
  });

  test("an empty ledger has nothing, and nothing of it is an error", async (t) => {
    const { ledger } = await openLedger(await newPlace(t));
    assert.deepEqual([await ledger.get(id("a")), await entriesOf(ledger), await filesOf(ledger)], [undefined, {}, {}]);
    ledger.put(id("a"), { seen: null, mirrored: null, indexed: null });
    ledger.put(id("b"), {});
    assert.deepEqual([await ledger.get(id("a")), await ledger.get(id("b"))], [undefined, undefined]);
    await ledger.close();
  });

  test("facets are kept apart: those given are set, null clears one, and without any the entry is gone", async (t) => {
    const place = await newPlace(t);
    const { ledger } = await openLedger(place);
    const told: Facets[] = [];
    const put = async (facets: Partial<Facets>): Promise<void> => {
      ledger.put(id("a"), facets);
      told.push((await factsOf(ledger, "a")) ?? assert.fail("it is gone"));
    };
    await put({ seen });
    await put({ indexed });
    await put({ mirrored: { ...mirrored, observed: null } });
    await put({ seen: { ...seen, name: "other.docx" } });
    await put({ mirrored: null });
    await put({ seen: null });
    assert.deepEqual(told, [
      { seen, mirrored: null, indexed: null },
      { seen, mirrored: null, indexed },
      { seen, mirrored: { ...mirrored, observed: null }, indexed },
      { seen: { ...seen, name: "other.docx" }, mirrored: { ...mirrored, observed: null }, indexed },
      { seen: { ...seen, name: "other.docx" }, mirrored: null, indexed },
      { seen: null, mirrored: null, indexed },
    ]);
    await ledger.flush();
    assert.deepEqual(await factsOf(ledger, "a"), told.at(-1));
    ledger.put(id("a"), { indexed: null });
    assert.equal(await ledger.get(id("a")), undefined);
    await ledger.close();
    assert.deepEqual(await entriesIn(place), {});
  });

  test("each field alone makes a difference", async (t) => {
    const place = await newPlace(t);
    // Rows that need quotes, and rows that need none.
    const address = "https://contoso.sharepoint.com/1.txt";
    const unquoted = { ...facetsOf(1), seen: { ...(facetsOf(1).seen ?? seen), url: address, rawUrl: address } };
    const other = (value: unknown): unknown => {
      if (typeof value === "number") return value + 1;
      if (typeof value === "string") return /^\d{4}-/.test(value) ? AT.replace("15T", "16T") : `${value}x`;
      return Object.fromEntries(Object.entries(value as object).map(([name, inner]) => [name, other(inner)]));
    };
    for (const base of [{ seen, mirrored, indexed }, unquoted]) {
      for (const [facet, fields] of Object.entries(base)) {
        for (const [field, value] of Object.entries(fields ?? {})) {
          // It is made from the raw one.
          if (field === "url") continue;
          const changed = { ...base, [facet]: { ...fields, [field]: other(value) } };
          await fill(place, { a: base });
          await fill(place, { a: changed });
          assert.deepEqual(await entriesIn(place), { a: changed }, `${facet}.${field}`);
        }
      }
    }
  });

  test("errors and absent facts come back as they were put", async (t) => {
    const place = await newPlace(t);
    const error = 'EACCES: "permission", denied\r\n  at open\n\tüß \u{1f600} =1+1';
    const failed: Facets = {
      seen: { ...seen, size: 0, listItemId: -1, url: "", rawUrl: "" },
      mirrored: {
        ...{ ...mirrored, file: "", downloadedAt: "", sourceError: error, processingError: `${error} again` },
        ...{ fingerprint: { ...mirrored.fingerprint, etag: 'W/"x;y,z"', contentVersion: "" }, observed: null },
      },
      indexed: {
        ...{ ...indexed, fileId: "", vectorStoreId: "", uploadedAt: "", embeddedAt: "", sha256: "" },
        ...{ sourceError: error, processingError: `${error} again`, embeddingError: `${error} and again` },
      },
    };
    await fill(place, { a: failed, b: facetsOf(5_000_000_000) });
    assert.deepEqual(await entriesIn(place), { a: failed, b: facetsOf(5_000_000_000) });
    assert.deepEqual(Object.keys(await filesOf((await openLedger(place)).ledger)), ["b"], "a has no file");
  });

  test("odd names are names like others, as ids, paths and titles, also where they differ in case or form only", async (t) => {
    const place = await newPlace(t);
    const all = Object.fromEntries(NAMES.map((odd, n) => [odd, facetsOf(n, odd)]));
    const ledger = await filled(place, all);
    assert.deepEqual(await entriesOf(ledger), sorted(Object.entries(all)));
    const reopened = (await openLedger(place)).ledger;
    assert.deepEqual(await entriesOf(reopened), sorted(Object.entries(all)));
    for (const [n, odd] of NAMES.entries()) assert.deepEqual(await factsOf(reopened, odd), facetsOf(n, odd));
    assert.deepEqual(await filesOf(reopened), sorted(NAMES.map((odd, n) => [odd, fileOf(n, odd)])));
    for (const odd of NAMES) reopened.put(id(odd), { seen: null, mirrored: null, indexed: null });
    await reopened.close();
    assert.deepEqual(await entriesIn(place), {});
  });

  test("items move, swap their paths, leave and come back, many at once", async (t) => {
    const place = await newPlace(t);
    const count = 3000;
    const all = new Map(Array.from({ length: count }, (_, n) => [`i${n}`, facetsOf(n)]));
    await fill(place, Object.fromEntries(all));
    const { ledger } = await openLedger(place);
    const move = (n: number, file: string): void => {
      const facets = { ...facetsOf(n), mirrored: { ...(facetsOf(n).mirrored ?? mirrored), file } };
      ledger.put(id(`i${n}`), { mirrored: facets.mirrored });
      all.set(`i${n}`, facets);
    };
    for (let n = 0; n < count; n += 2) {
      if (n % 3 === 0) {
        ledger.put(id(`i${n}`), { seen: null, mirrored: null, indexed: null });
        all.delete(`i${n}`);
      } else {
        move(n, fileOf(n + 1));
        move(n + 1, fileOf(n));
      }
    }
    for (let n = 0; n < 60; n += 6) {
      ledger.put(id(`i${n}`), facetsOf(n));
      all.set(`i${n}`, facetsOf(n));
    }
    ledger.put(id("new"), facetsOf(9999));
    all.set("new", facetsOf(9999));
    assert.deepEqual(await entriesOf(ledger), sorted(all), "before they are written");
    await ledger.close();
    assert.deepEqual(await entriesIn(place), sorted(all), "and afterwards");
    const files = await filesOf((await openLedger(place)).ledger);
    assert.deepEqual([files["i2"], files["i3"], files["i1"]], [fileOf(3), fileOf(2), fileOf(1)]);
  });

  test("an entry is what it was when it was asked for, whatever is put later", async (t) => {
    const place = await newPlace(t);
    for (const ledger of [(await openLedger(place)).ledger, await filled(place, { a: { seen, mirrored } })]) {
      ledger.put(id("a"), { seen, mirrored });
      const before = await ledger.get(id("a"));
      ledger.put(id("a"), { seen: null, mirrored: { ...mirrored, file: "" } });
      await ledger.flush();
      assert.deepEqual(before && plain(before), { seen, mirrored, indexed: null });
      await ledger.close();
    }
  });

  test("pages go on while entries are put and settled: each that stays comes once, whatever it is by then", async (t) => {
    const place = await newPlace(t);
    const count = 5000;
    await fill(place, Object.fromEntries(Array.from({ length: count }, (_, n) => [`i${n}`, facetsOf(n)])));
    for (const pagesOf of [
      (open: Ledger) => open.entries(),
      (open: Ledger) => open.items(),
      (open: Ledger) => open.states(),
    ]) {
      const { ledger } = await openLedger(place);
      const met: string[] = [];
      let pages = 0;
      for await (const page of pagesOf(ledger)) {
        pages += 1;
        for (const one of page as readonly (string | LedgerEntry)[])
          met.push(typeof one === "string" ? one : one.itemId);
        for (let n = 0; n < count; n += 50)
          ledger.put(id(`i${n}`), { mirrored: { ...mirrored, file: `page ${pages}` } });
        // Items of every page leave, and others come.
        ledger.put(id(`i${pages}`), { seen: null, mirrored: null, indexed: null });
        ledger.put(id(`new ${pages}`), facetsOf(pages));
        await ledger.flush();
      }
      assert.ok(pages > 1, "more than one page");
      assert.equal(new Set(met).size, met.length, "none comes twice");
      const [stayed, found] = [Array.from({ length: count / 2 }, (_, n) => `i${n + count / 2}`), new Set(met)];
      assert.deepEqual(
        stayed.filter((item) => !found.has(item)),
        [],
        "and none is left out",
      );
      await ledger.close();
    }
  });

  test("rows put while the ledger settles are not lost", async (t) => {
    const place = await newPlace(t);
    const { ledger } = await openLedger(place);
    ledger.put(id("a"), facetsOf(1));
    const settling = ledger.flush();
    ledger.put(id("b"), facetsOf(2));
    await settling;
    ledger.put(id("a"), { indexed: null });
    assert.deepEqual(await entriesOf(ledger), { a: { ...facetsOf(1), indexed: null }, b: facetsOf(2) });
    await ledger.close();
    assert.deepEqual(await entriesIn(place), { a: { ...facetsOf(1), indexed: null }, b: facetsOf(2) });
  });

  test("the version says whether anything is different, and in which facet", async (t) => {
    const place = await newPlace(t);
    const ledger = await filled(place, { a: facetsOf(1) });
    const first = await ledgerVersion(place);
    assert.ok(first.split(" ").length >= 3, first);
    ledger.put(id("a"), facetsOf(1));
    await ledger.flush();
    assert.equal(await ledgerVersion(place), first);
    ledger.put(id("a"), { seen: facetsOf(2).seen });
    await ledger.flush();
    const second = (await ledgerVersion(place)).split(" ");
    const isSame = first.split(" ").map((word, at) => word === second[at]);
    assert.deepEqual(isSame.slice(0, 3), [false, true, true]);
    await ledger.close();
    assert.equal(await ledgerVersion(place), second.join(" "));
  });

  test("a store that is not the domain's own is remembered apart", async (t) => {
    const place = await newPlace(t);
    await fill(place, { a: facetsOf(1) });
    const vectorStoreId = "vs_2" as VectorStoreId;
    const other = (await openLedger(place, { step: "embed", vectorStoreId })).ledger;
    assert.deepEqual(await factsOf(other, "a"), { ...facetsOf(1), indexed: null });
    other.put(id("a"), { indexed: { ...indexed, fileId: "file-other" as FileId, vectorStoreId } });
    await other.close();
    const own = (await openLedger(place)).ledger;
    assert.deepEqual(await factsOf(own, "a"), facetsOf(1));
    const again = (await openLedger(place, { step: "embed", vectorStoreId })).ledger;
    assert.equal((await again.get(id("a")))?.indexed?.fileId, "file-other");
    assert.match(await readFile(join(place.folder, "vectorstore_map_vs_2.csv"), "utf8"), /\r\nfile-other,vs_2,/);
    own.put(id("a"), { seen: null, mirrored: null, indexed: null });
    await own.flush();
    assert.deepEqual([await own.get(id("a")), await gather(own.items()), await entriesOf(own)], [undefined, [], {}]);
  });

  test("whatever is put, killed and opened again, what was flushed last is there", async (t) => {
    const key = fc.constantFrom("k1", "k2", "K2", 'k"3,\n');
    const facets = fc.record(
      {
        seen: fc.constantFrom(null, seen, facetsOf(1).seen),
        mirrored: fc.constantFrom(null, mirrored, facetsOf(1).mirrored, { ...mirrored, observed: null }),
        indexed: fc.constantFrom(null, indexed, facetsOf(1).indexed),
      },
      { requiredKeys: [] },
    );
    const change = fc.record({ do: fc.constant("put" as const), key, facets });
    const end = fc.record({ do: fc.constantFrom("kill" as const, "settle" as const, "close" as const) });
    const history = fc.array(fc.oneof({ weight: 3, arbitrary: change }, { weight: 1, arbitrary: end }), {
      maxLength: 16,
    });
    await fc.assert(
      fc.asyncProperty(history, async (events) => {
        const place = await newPlace(t);
        const expected = new Map<string, Facets>();
        let ledger = (await openLedger(place)).ledger;
        for (const event of events) {
          if (event.do === "put") {
            ledger.put(id(event.key), event.facets as Partial<Facets>);
            const next = { seen: null, mirrored: null, indexed: null, ...expected.get(event.key), ...event.facets };
            expected.set(event.key, next);
            if (!next.seen && !next.mirrored && !next.indexed) expected.delete(event.key);
          } else if (event.do === "settle") {
            await ledger.flush();
          } else {
            await (event.do === "kill" ? ledger.flush() : ledger.close());
            ledger = (await openLedger(place)).ledger;
          }
          assert.deepEqual(await entriesOf(ledger), sorted(expected));
        }
        await ledger.close();
        assert.deepEqual(await entriesIn(place), sorted(expected));
      }),
      { numRuns },
    );
  });
}

function mapCases(newPlace: NewPlace): void {
  test("they have exactly the specified columns, 10, 13 and 19, and backslashes in paths", async (t) => {
    const place = await newPlace(t);
    await fill(place, { a: { seen, mirrored, indexed } });
    await exportMaps(place);
    const quoted = '"Q1, final.docx",docx';
    const file = '"DEMO\\01_files\\docs\\02_embedded\\Reports\\Q1, final.docx"';
    const at = `${AT},1705314600`;
    const rows: Readonly<Record<MapName, string>> = {
      "sharepoint_map.csv": `7,a,${quoted},864368,"${seen.url}","${seen.rawUrl}","${seen.serverPath}",${at}`,
      "files_map.csv": `7,a,${quoted},"${seen.serverPath}",${file},864368,${at},${at},,`,
      "vectorstore_map.csv": `file-1,vs_1,${file},7,a,${quoted},864368,${at},${at},${at},${at},,,`,
    };
    for (const map of MAPS) assert.equal(await readMap(place, map), `${HEADERS[map]}\r\n${rows[map]}\r\n`);
    assert.deepEqual(
      MAPS.map((map) => HEADERS[map].split(",").length),
      [10, 13, 19],
    );
  });

  test("each has a row for every item with its facet, and no other", async (t) => {
    const place = await newPlace(t);
    const { seen: _, ...rest } = facetsOf(3);
    await fill(place, { a: facetsOf(1), b: { seen: facetsOf(2).seen }, c: { ...rest, seen: null } });
    const { ledger } = await openLedger(place);
    ledger.put(id("gone"), facetsOf(4));
    await ledger.flush();
    ledger.put(id("gone"), { seen: null, mirrored: null, indexed: null });
    await ledger.close();
    await exportMaps(place);
    const keys = await Promise.all(
      MAPS.map(async (map) => {
        const column = HEADERS[map].split(",").indexOf("sharepoint_unique_file_id");
        return (await rowsOf(place, map)).map((row) => row.split(",")[column]).sort();
      }),
    );
    assert.deepEqual(keys, [
      ["a", "b"],
      ["a", "c"],
      ["a", "c"],
    ]);
  });

  test("an unchanged ledger writes none of them", async (t) => {
    const place = await newPlace(t);
    await fill(place, { a: facetsOf(1), b: facetsOf(2) });
    await exportMaps(place);
    const before = await stampsOf(place);
    for (const step of ["download", "embed"] as const) {
      const { ledger } = await openLedger(place, { step });
      for (const [item, n] of Object.entries({ a: 1, b: 2 })) ledger.put(id(item), facetsOf(n));
      await ledger.flush();
      await ledger.close();
      await exportMaps(place);
    }
    assert.deepEqual(await stampsOf(place), before);
  });

  test("while a step runs its rows are appended, the first at once, and what a kill leaves there is no edit", async (t) => {
    const place = await newPlace(t);
    await filled(place, { a: facetsOf(1), z: facetsOf(99) });
    await exportMaps(place);
    const path = join(place.folder, "files_map.csv");
    const { ledger } = await openLedger(place, { step: "download" });
    const counts: number[] = [];
    for (let n = 2; n <= 14; n++) {
      ledger.put(id("a"), { mirrored: facetsOf(n).mirrored });
      await ledger.flush();
      counts.push((await rowsOf(place, "files_map.csv")).length - 2);
    }
    assert.deepEqual(counts, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 11, 11, 11], "then ten at a time");
    await appendFile(path, "7,half a ro");
    for (const readOnly of [true, false]) {
      const { ledger: next, problems } = await openLedger(place, { readOnly, step: "download" });
      assert.deepEqual(problems, []);
      const expected = { a: { ...facetsOf(1), mirrored: facetsOf(14).mirrored }, z: facetsOf(99) };
      assert.deepEqual(await entriesOf(next), expected);
      if (!readOnly) next.put(id("z"), { mirrored: facetsOf(15).mirrored });
      await next.flush();
      if (!readOnly) assert.equal((await rowsOf(place, "files_map.csv")).length, 3, "it was cut off");
      await next.close();
    }
    assert.deepEqual(
      (await rowsOf(place, "files_map.csv")).map((row) => row.split(",")[0]),
      ["14", "15"],
    );
  });

  test("a dry run reads what was there when it began, changes nothing and leaves nothing", async (t) => {
    const place = await newPlace(t);
    const absent = { ...place, folder: join(place.folder, "not", "there") };
    const { ledger: nothing, end: endNothing } = await openForDryRun(absent);
    assert.deepEqual(await entriesOf(nothing), {});
    nothing.put(id("a"), { seen });
    assert.deepEqual(Object.keys(await entriesOf(nothing)), ["a"]);
    await endNothing();
    assert.ok(!existsSync(absent.folder));

    const all = Object.fromEntries(Array.from({ length: 2500 }, (_, n) => [`i${n}`, facetsOf(n)]));
    await fill(place, all);
    const before = await readFolder(place);
    const { ledger, end } = await openForDryRun(place);
    ledger.put(id("i0"), { seen: null, mirrored: null, indexed: null });
    ledger.put(id("new"), facetsOf(1));
    await ledger.flush();
    const { i0: _, ...others } = all;
    assert.deepEqual(await entriesOf(ledger), sorted(Object.entries({ ...others, new: facetsOf(1) })));
    await end();
    assert.deepEqual(await readFolder(place), before);
    const { ledger: read } = await openLedger(place, { readOnly: true });
    assert.deepEqual(await entriesOf(read), sorted(Object.entries(all)));
    assert.throws(() => read.put(id("i0"), { seen: null }), /put i0: .*reading only/);

    const beside = await openForDryRun(place);
    const writer = (await openLedger(place)).ledger;
    for (let n = 0; n < 2500; n += 2) writer.put(id(`i${n}`), { seen: null, mirrored: null, indexed: null });
    writer.put(id("new"), facetsOf(1));
    await writer.close();
    const after = await readFolder(place);
    assert.deepEqual(await entriesOf(beside.ledger), sorted(Object.entries(all)));
    await beside.end();
    assert.deepEqual(
      Object.keys(await readFolder(place)).sort(),
      Object.keys(after)
        .filter((file) => !/_map_jb_1\.csv$/.test(file))
        .sort(),
    );
  });
}

function foreignCases(newPlace: NewPlace): void {
  const three = { a: facetsOf(1), b: facetsOf(2), c: facetsOf(3) };

  /** Edits the rows of a map between two runs, and returns what the next run sees; then once more after it wrote something. */
  async function edited(t: TestContext, map: MapName, edit: (rows: string[]) => string[]) {
    const place = await newPlace(t);
    await fill(place, three);
    await exportMaps(place);
    await writeFile(join(place.folder, map), `${[HEADERS[map], ...edit(await rowsOf(place, map))].join("\r\n")}\r\n`);
    const { ledger, problems } = await openLedger(place);
    assert.deepEqual(problems, []);
    const found = await entriesOf(ledger);
    ledger.put(id("late"), facetsOf(9));
    await ledger.close();
    const { late, ...rest } = await entriesIn(place);
    assert.deepEqual([rest, late], [found, facetsOf(9)], "it stays so when the run writes");
    return found;
  }

  test("what a listing left, and how far the index is, counts until somebody edits a map, also for whoever noted it", async (t) => {
    const place = await newPlace(t);
    await fill(place, three);
    await exportMaps(place);
    const listing = {
      policy: "p",
      cursor: "m",
      checkedAt: "2026-01-02T00:00:00.000Z",
      listedAt: "2026-01-01T00:00:00Z",
      runsByFeed: 1,
      hiddenRows: 0,
    };
    const { ledger } = await openLedger(place);
    ledger.noteListing({ ...listing, hashesOwed: 2, nextHashes: 3 });
    ledger.noteIndexed("rules", ledger.revision);
    await ledger.flush();
    const { ledger: before } = await openLedger(place, { step: "embed" });
    assert.deepEqual(before.listing, { ...listing, hashesOwed: 2, nextHashes: 3 });
    assert.deepEqual([before.indexedUpTo("rules"), before.indexedUpTo("others")], [before.revision, 0]);
    const rows = (await rowsOf(place, "files_map.csv")).map((row) => row.replace(",2.txt,", ",theirs.txt,"));
    await writeFile(join(place.folder, "files_map.csv"), `${[HEADERS["files_map.csv"], ...rows].join("\r\n")}\r\n`);
    await (await openLedger(place, { step: "embed" })).ledger.close();
    for (const item of ["late", "later"]) {
      ledger.put(id(item), facetsOf(9));
      await ledger.flush();
    }
    const { ledger: after } = await openLedger(place, { step: "embed" });
    assert.deepEqual([after.listing?.policy, after.listing?.cursor, after.indexedUpTo("rules")], ["", "", 0]);
    assert.equal(after.listing?.nextHashes, 3);
  });

  for (const map of MAPS) {
    const facet = FACETS[map];
    test(`${map}: a row that was edited counts, and nothing else is different`, async (t) => {
      const found = await edited(t, map, (rows) => rows.map((row) => row.replace(",2.txt,", ",theirs.txt,")));
      assert.equal(found["b"]?.[facet]?.name, "theirs.txt");
      assert.deepEqual(
        { ...found, b: { ...found["b"], [facet]: three.b[facet] } },
        { ...three, b: { ...three.b, [facet]: three.b[facet] } },
      );
    });

    test(`${map}: a row that was removed takes its facet away`, async (t) => {
      const found = await edited(t, map, (rows) => rows.filter((row) => !row.includes(",2.txt,")));
      assert.deepEqual(found, { ...three, b: { ...three.b, [facet]: null } });
    });

    test(`${map}: a row that was added brings its facet; of two with one id the last one counts`, async (t) => {
      const found = await edited(t, map, ([a = "", ...rows]) => [
        ...[a, ...rows, a.replace(",a,", ",d,").replace(",1.txt,", ",added.txt,")],
        a.replace(",1.txt,", ",last.txt,"),
      ]);
      assert.deepEqual(Object.keys(found), ["a", "b", "c", "d"]);
      assert.deepEqual([found["a"]?.[facet]?.name, found["d"]?.[facet]?.name], ["last.txt", "added.txt"]);
      const others = (["seen", "mirrored", "indexed"] as const).filter((one) => one !== facet);
      for (const one of others) assert.deepEqual([found["a"]?.[one], found["d"]?.[one]], [three.a[one], null]);
    });

    test(`${map}: restored from a backup, it says what it said then`, async (t) => {
      const place = await newPlace(t);
      await fill(place, three);
      await exportMaps(place);
      const backup = await readMap(place, map);
      await fill(place, { a: facetsOf(11), b: { seen: null, mirrored: null, indexed: null }, d: facetsOf(4) });
      await exportMaps(place);
      await writeFile(join(place.folder, map), backup);
      const found = await entriesIn(place);
      const names = ["a", "b", "c", "d"].map((item) => found[item]?.[facet]?.name);
      assert.deepEqual(names, ["1.txt", "2.txt", "3.txt", undefined]);
      const [other] = MAPS.filter((one) => one !== map).map((one) => FACETS[one]);
      const untouched = ["a", "b", "c", "d"].map((item) => found[item]?.[other ?? "seen"]?.name);
      assert.deepEqual(untouched, ["11.txt", undefined, "3.txt", "4.txt"]);
    });

    test(`B6 ${map} is missing: its facet is unknown of every item, and the others are what they were`, async (t) => {
      const place = await newPlace(t);
      await fill(place, three);
      await exportMaps(place);
      await rm(join(place.folder, map));
      const found = await entriesIn(place);
      const expected = Object.entries(three).map(([item, facets]) => [item, { ...facets, [facet]: null }] as const);
      assert.deepEqual(found, Object.fromEntries(expected));
      await fill(place, { a: facetsOf(1) });
      await exportMaps(place);
      assert.equal((await rowsOf(place, map)).length, 1, "it is written again");
    });

    for (const [title, spoil] of Object.entries<(good: string) => string>({
      "another header": () => "corrupted,data\r\n1,2\r\n",
      "a row with too few fields": (good) => `${good}1,2,3\r\n`,
      "a row cut in the middle": (good) => good.slice(0, -30),
    })) {
      test(`B7 ${map} is corrupt (${title}): it is set aside with a warning, never read as blank rows`, async (t) => {
        const place = await newPlace(t);
        await fill(place, three);
        await exportMaps(place);
        const corrupt = spoil(await readMap(place, map));
        await writeFile(join(place.folder, map), corrupt);
        const reader = await openLedger(place, { readOnly: true });
        assert.match(reader.problems.join(), new RegExp(`^${map.replace(".", "\\.")} cannot be used \\(.+\\)`));
        assert.equal(await readMap(place, map), corrupt, "a reader leaves it alone");
        const { ledger, problems } = await openLedger(place);
        assert.match(problems.join(), new RegExp(`^${map.replace(".", "\\.")} cannot be used \\(.+\\).*set aside as`));
        const expected = Object.entries(three).map(([item, facets]) => [item, { ...facets, [facet]: null }] as const);
        assert.deepEqual(await entriesOf(ledger), Object.fromEntries(expected));
        await ledger.close();
        const aside = (await readdir(place.folder)).filter((file) => file.startsWith(`${map}.corrupt-`));
        assert.equal(aside.length, 1);
        assert.equal(await readFile(join(place.folder, aside[0] ?? ""), "utf8"), corrupt);
        assert.deepEqual((await openLedger(place)).problems, [], "and said once");
      });
    }
  }

  test("a BOM, other line ends and quotes where none are needed are read", async (t) => {
    const place = await newPlace(t);
    const odd = 'odd "id", really';
    await fill(place, { [odd]: facetsOf(1), b: facetsOf(2) });
    await exportMaps(place);
    for (const map of MAPS) {
      const text = (await readMap(place, map)).replaceAll("\r\n", "\n").replace(",b,", ',"b",');
      await writeFile(join(place.folder, map), `\uFEFF${text}`);
    }
    assert.deepEqual(await entriesIn(place), { b: facetsOf(2), [odd]: facetsOf(1) });
  });

  test("what somebody does to map files of a domain that was renamed counts as before", async (t) => {
    const before = await newPlace(t);
    await fill(before, three);
    await exportMaps(before);
    const place = await renameDomain(before, `${before.domainId}_renamed`);
    const text = await readMap(place, "files_map.csv");
    const edited = text.replace(",2.txt,", ",theirs.txt,").replace(/.*,3\.txt,.*\r\n/, "");
    await writeFile(join(place.folder, "files_map.csv"), edited);
    await rm(join(place.folder, "vectorstore_map.csv"));
    const { ledger } = await openLedger(place);
    const found = await entriesOf(ledger);
    assert.deepEqual(found["b"]?.mirrored?.name, "theirs.txt");
    assert.deepEqual([found["c"]?.mirrored, found["c"]?.seen], [null, three.c.seen]);
    assert.deepEqual(
      Object.values(found).map(({ indexed }) => indexed),
      [null, null, null],
    );
    await ledger.close();
  });

  test("of two rows with one id the last one counts, however far apart, unless the ledger knows something newer", async (t) => {
    const place = await newPlace(t);
    await fill(place, Object.fromEntries(Array.from({ length: 6000 }, (_, n) => [`item ${n}`, facetsOf(n)])));
    const rows = await rowsOf(place, "files_map.csv");
    const rowOf = (n: number, name: string): string => rows[n]?.replace(`,${n}.txt,`, `,${name}.txt,`) ?? "";
    const edited = [rowOf(0, "first"), rowOf(1, "late"), ...rows.slice(2), rowOf(0, "last"), rowOf(1, "later")];
    const { ledger } = await openLedger(place);
    ledger.put(id("item 1"), { mirrored: facetsOf(11).mirrored });
    await ledger.flush();
    await writeFile(join(place.folder, "files_map.csv"), `${[HEADERS["files_map.csv"], ...edited].join("\r\n")}\r\n`);
    await ledger.close();
    const found = await entriesIn(place);
    assert.deepEqual([found["item 0"]?.mirrored?.name, found["item 1"]?.mirrored?.name], ["last.txt", "11.txt"]);
  });

  test("a row that was edited while a run was open counts, unless the run wrote that item", async (t) => {
    const place = await newPlace(t);
    await fill(place, three);
    await exportMaps(place);
    const { ledger } = await openLedger(place);
    ledger.put(id("a"), { mirrored: facetsOf(11).mirrored });
    for (const map of MAPS) {
      const text = await readMap(place, map);
      await writeFile(join(place.folder, map), text.replace(",2.txt,", ",theirs.txt,").replace(/.*,3\.txt,.*\r\n/, ""));
    }
    await ledger.close();
    const found = await entriesIn(place);
    assert.deepEqual(Object.keys(found), ["a", "b"]);
    assert.deepEqual(found["a"], { ...three.a, mirrored: facetsOf(11).mirrored });
    assert.equal(found["b"]?.mirrored?.name, "theirs.txt");
  });

  test("a row that was edited while the step appended counts; a facet that the step cleared does not come back with it", async (t) => {
    const place = await newPlace(t);
    await filled(place, three);
    await exportMaps(place);
    const { ledger } = await openLedger(place, { step: "download" });
    ledger.put(id("a"), { mirrored: facetsOf(11).mirrored });
    await ledger.flush();
    ledger.put(id("c"), { mirrored: null });
    await ledger.flush();
    const path = join(place.folder, "files_map.csv");
    await writeFile(path, (await readMap(place, "files_map.csv")).replace(",2.txt,", ",theirs.txt,"));
    for (let n = 12; n < 24; n++) {
      ledger.put(id("a"), { mirrored: facetsOf(n).mirrored });
      await ledger.flush();
    }
    await ledger.close();
    const found = await entriesIn(place);
    assert.equal(found["b"]?.mirrored?.name, "theirs.txt");
    assert.deepEqual(found["a"]?.mirrored, facetsOf(23).mirrored);
    assert.deepEqual(found["c"], { ...three.c, mirrored: null });
    assert.equal((await rowsOf(place, "files_map.csv")).length, 2);
  });

  test("a row that was edited while the map was being written counts", async (t) => {
    const place = await newPlace(t);
    await fill(place, Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`item ${n}`, facetsOf(n)])));
    const edited = (await readMap(place, "files_map.csv")).replace(",7.txt,", ",theirs.txt,");
    const { ledger } = await openLedger(place);
    ledger.put(id("item 1"), { mirrored: facetsOf(11).mirrored });
    await saveWhileWritten(join(place.folder, "files_map.csv"), edited, () => ledger.close());
    const found = await entriesIn(place);
    assert.equal(found["item 7"]?.mirrored?.name, "theirs.txt");
    assert.deepEqual(found["item 1"]?.mirrored, facetsOf(11).mirrored);
  });

  test("B7 a folder in the place of a map is set aside with a warning", async (t) => {
    for (const map of MAPS) {
      const place = await newPlace(t);
      await filled(place, three);
      await exportMaps(place);
      await rm(join(place.folder, map));
      await mkdir(join(place.folder, map));
      const { ledger, problems } = await openLedger(place);
      assert.match(
        problems.join(),
        new RegExp(`^${map.replace(".", "\\.")} cannot be used \\(it is no file\\); it is set aside`),
      );
      await ledger.close();
      assert.deepEqual((await openLedger(place)).problems, [], "and said once");
    }
  });

  test("B7 a number that is none makes a map corrupt", async (t) => {
    for (const wrong of ["x", "1.5", '"1,234"']) {
      const place = await newPlace(t);
      await filled(place, three);
      await exportMaps(place);
      const rows = (await rowsOf(place, "sharepoint_map.csv")).map((row) => row.replace(/^2,/, `${wrong},`));
      const text = [HEADERS["sharepoint_map.csv"], ...rows, ""].join("\r\n");
      await writeFile(join(place.folder, "sharepoint_map.csv"), text);
      const { ledger, problems } = await openLedger(place);
      assert.match(problems.join(), /sharepoint_map\.csv cannot be used \(row 3 has '.*' as sharepoint_listitem_id\)/);
      await ledger.close();
    }
  });

  test("whatever is remembered beside the maps can be lost: only what they have no columns for is unknown", async (t) => {
    const place = await newPlace(t);
    await fill(place, three);
    await exportMaps(place);
    await loseMemory(place);
    const unknown = ({ seen, mirrored, indexed }: Facets): Facets => ({
      seen,
      mirrored: mirrored && {
        ...mirrored,
        fingerprint: { ...mirrored.fingerprint, etag: "", contentVersion: "" },
        observed: null,
      },
      indexed: indexed && { ...indexed, sha256: "" },
    });
    const expected = Object.entries(three).map(([item, facets]) => [item, unknown(facets)] as const);
    assert.deepEqual(await entriesIn(place), Object.fromEntries(expected));
  });
}

function processCases(newPlace: NewPlace, many: number): void {
  test("killed at any write, whatever was flushed is there, and every item in one piece", async (t) => {
    const place = await newPlace(t);
    let first = 0;
    for (const { after, in: where } of [
      { after: 0, in: "flush" },
      { after: 3, in: "settle" },
      { after: 5, in: "flush" },
      { after: 1, in: "settle" },
      { after: 33, in: "settle" },
      { after: 11, in: "flush" },
    ] as const) {
      const last = await killAfter(place, first, first + after, where);
      const lease = await leaseStep(place, "download", "the next run");
      const { ledger, problems } = await openLedger(place);
      assert.deepEqual(problems, []);
      const found = await entriesOf(ledger);
      // The next one may have been written without the word of it having come through.
      const [heard, next] = [stateAfter(last), stateAfter(last + 1)];
      for (const item of new Set([...Object.keys(found), ...Object.keys(heard), ...Object.keys(next)])) {
        const isNext = JSON.stringify(found[item]) === JSON.stringify(next[item]);
        if (!isNext) assert.deepEqual(found[item], heard[item], `${item} after ${last}`);
      }
      // What was not heard of is done again, so that the next child goes on from a known state.
      for (const [item, facets] of changesOf(last + 1)) {
        ledger.put(id(item), facets ?? { seen: null, mirrored: null, indexed: null });
      }
      await ledger.close();
      await exportMaps(place);
      assert.deepEqual(await entriesIn(place), next);
      assert.equal((await rowsOf(place, "files_map.csv")).length, Object.keys(next).length);
      await lease.release();
      first = last + 2;
    }
  });

  test("two steps at once: each keeps what the other wrote, also of the same item; of one facet the later counts", async (t) => {
    const place = await newPlace(t);
    await fill(place, { a: { seen, mirrored }, b: { seen, mirrored } });
    const download = (await openLedger(place, { step: "download" })).ledger;
    const embed = (await openLedger(place, { step: "embed" })).ledger;
    embed.put(id("a"), { indexed, mirrored: { ...mirrored, file: "moved by embed" } });
    embed.put(id("b"), { indexed });
    await embed.close();
    download.put(id("a"), { mirrored: { ...mirrored, sourceError: "from download" } });
    download.put(id("c"), { seen });
    await download.close();
    assert.deepEqual(await entriesIn(place), {
      a: { seen, mirrored: { ...mirrored, sourceError: "from download" }, indexed },
      b: { seen, mirrored, indexed },
      c: { seen, mirrored: null, indexed: null },
    });
  });

  test("three processes at once, each step under its lease: nothing is lost", async (t) => {
    const place = await newPlace(t);
    const times = 6;
    const children = [1, 2, 3].map(() => fork(CHILD, [taskOf({ verb: "count", place, n: times })]));
    t.after(() => children.forEach((one) => void one.kill("SIGKILL")));
    const exits = await Promise.all(children.map((one) => once(one, "exit")));
    assert.deepEqual(
      exits.map(([code]) => code),
      [0, 0, 0],
    );
    const { counted, ...others } = await entriesIn(place);
    assert.deepEqual(counted, facetsOf(3 * times));
    const expected = children.flatMap(({ pid }) =>
      Array.from({ length: times }, (_, i) => [`${pid} ${i}`, facetsOf(i)] as const),
    );
    assert.deepEqual(others, sorted(expected));
  });

  test(`${many} entries are written and read in a heap of ${HEAP_MB} MB`, async (t) => {
    const place = await newPlace(t);
    for (const verb of ["fill", "readAll"] as const) {
      const child = fork(CHILD, [taskOf({ verb, place, n: many })], { execArgv: [`--max-old-space-size=${HEAP_MB}`] });
      t.after(() => void child.kill("SIGKILL"));
      assert.deepEqual(await once(child, "exit"), [0, null], verb);
    }
  });
}

const taskOf = (task: LedgerTask): string => JSON.stringify(task);
const fileOf = (n: number, name?: string): string => facetsOf(n, name).mirrored?.file ?? "";

/** Puts what it is given and closes the ledger. */
async function fill(place: LedgerPlace, entries: Readonly<Record<string, Partial<Facets>>>): Promise<void> {
  const { ledger } = await openLedger(place);
  for (const [item, facets] of Object.entries(entries)) ledger.put(id(item), facets);
  await ledger.close();
}

async function filled(place: LedgerPlace, entries: Readonly<Record<string, Partial<Facets>>>): Promise<Ledger> {
  await fill(place, entries);
  return (await openLedger(place)).ledger;
}

async function entriesIn(place: LedgerPlace): Promise<Record<string, Facets>> {
  const { ledger } = await openLedger(place, { readOnly: true });
  const found = await entriesOf(ledger);
  await ledger.close();
  return found;
}

async function factsOf(ledger: Ledger, item: string): Promise<Facets | undefined> {
  const entry = await ledger.get(id(item));
  return entry && plain(entry);
}

/** What a source lists of which the ledger has these facets. */
function sightingOf(item: string, { seen: listed, mirrored: fetched }: Facets): Sighting {
  assert.ok(listed && fetched);
  const { listItemId, name, serverPath, url, rawUrl } = listed;
  const { fingerprint } = fetched;
  const place = { listItemId, name, path: name, serverPath, url, rawUrl };
  return { kind: "sighting", itemId: id(item), ...place, documentType: "txt", form: "document", fingerprint };
}

async function filesOf(ledger: Ledger): Promise<Record<string, string>> {
  const states = await gather(ledger.states());
  return sorted(states.flatMap(({ itemId, file }) => (file ? [[itemId, file] as const] : [])));
}

async function gather<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(...page);
  return all;
}

function readMap({ folder }: LedgerPlace, map: MapName): Promise<string> {
  return readFile(join(folder, map), "utf8");
}

/** Of a map in which no field holds a line end. */
async function rowsOf(place: LedgerPlace, map: MapName): Promise<string[]> {
  return (await readMap(place, map)).split("\r\n").slice(1, -1);
}

async function stampsOf({ folder }: LedgerPlace): Promise<readonly unknown[]> {
  const stats = await Promise.all(MAPS.map((map) => stat(join(folder, map))));
  return stats.map(({ ino, mtimeMs, size }) => ({ ino, mtimeMs, size }));
}

/** Every file of the source's folder, with its content. */
async function readFolder({ folder }: LedgerPlace): Promise<Record<string, string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = await Promise.all(files.map(async (file) => [file, await readFile(file, "latin1")] as const));
  return Object.fromEntries(read);
}

function stateAfter(last: number): Record<string, Facets> {
  const state = new Map<string, Facets>();
  for (let i = 0; i <= last; i++) {
    for (const [item, facets] of changesOf(i)) {
      if (facets) state.set(item, facets);
      else state.delete(item);
    }
  }
  return sorted(state);
}

/** The number of the last flush that was heard of, by a child killed after this many, there or in the settle that follows. */
async function killAfter(place: LedgerPlace, first: number, after: number, where: "flush" | "settle"): Promise<number> {
  const child = spawn(process.execPath, [CHILD, taskOf({ verb: "writeWithoutEnd", place, n: first })], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  let last = first - 1;
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line);
    const settles = last % SETTLES_EVERY === SETTLES_EVERY - 1;
    if (last >= after && (where === "flush" || settles)) child.kill("SIGKILL");
  }
  await ended;
  return last;
}
