// Reports are archived, listed, read, exported and removed.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { strToU8, unzipSync, zipSync } from "fflate";
import type { DomainId, JobId } from "../../src/contracts/ids.ts";
import type { CrawlArchive, ReportId } from "../../src/contracts/report.ts";
import { toUtcMicros } from "../../src/lib/time.ts";
import { parseReportId } from "../../src/reports/report-codec.ts";
import { createReportStore, type ReportStore } from "../../src/reports/report-store.ts";

const MAP = "sharepoint_unique_file_id,filename\r\n1,\u00fcber uns.docx\r\n";
const NAME = "2026-01-15_14-25-00_DEMO_all_full";
const ID = parseReportId(`crawls/${NAME}`);

test("a crawl leaves a zip with report.json and the map files as they were", async (t) => {
  const { store, folder, archive } = await openStore(t);
  assert.deepEqual(await store.list(), []);
  assert.equal(await store.archive(archive), ID);

  const bytes = await readFile(join(folder, "crawls", `${NAME}.zip`));
  const unzipped = unzipSync(bytes);
  assert.deepEqual(Object.keys(unzipped).sort(), ["01_files/docs/files_map.csv", "report.json"]);
  assert.equal(Buffer.from(unzipped["01_files/docs/files_map.csv"] ?? []).toString("utf8"), MAP);
  const report = JSON.parse(Buffer.from(unzipped["report.json"] ?? []).toString("utf8"));
  const { files, ...rest } = report;
  assert.deepEqual(rest, {
    report_id: ID,
    title: "Crawl of DEMO (all, full)",
    type: "crawl",
    created_utc: "2026-01-15T14:25:00.000000Z",
    ok: false,
    error: "Source 'docs': one item failed.",
    domain_id: "DEMO",
    scope: "all",
    mode: "full",
    source_id: "",
    job_id: "jb_7",
    started_utc: "2026-01-15T14:20:00.000000Z",
    finished_utc: "2026-01-15T14:25:00.000000Z",
    sources: [
      {
        source_type: "file_sources",
        source_id: "docs",
        complete: true,
        error: "",
        items_total: 5,
        items_added: 2,
        items_changed: 1,
        items_moved: 0,
        items_removed: 1,
        items_failed: 1,
        map_files: ["01_files/docs/files_map.csv"],
      },
    ],
  });
  assert.deepEqual(
    files.map((file: Record<string, unknown>) => [file["filename"], file["file_path"], file["file_size"]]),
    [
      ["report.json", "report.json", unzipped["report.json"]?.length],
      ["files_map.csv", "01_files/docs/files_map.csv", Buffer.byteLength(MAP)],
    ],
  );
  assert.equal(files[1].last_modified_utc, "2026-01-15T14:24:00.000000Z");
  assert.deepEqual(await readdir(join(folder, "crawls")), [`${NAME}.zip`]);
});

test("it is listed, got, read file by file, downloaded and removed", async (t) => {
  const { store, folder, archive } = await openStore(t);
  await store.archive(archive);
  const [summary] = await store.list({ type: "crawl" });
  assert.ok(summary);
  assert.deepEqual(await store.get(ID), summary);
  assert.deepEqual([summary.reportId, summary.ok, summary.createdAt], [ID, false, "2026-01-15T14:25:00.000000Z"]);

  const file = await store.file(ID, "01_files/docs/files_map.csv");
  assert.equal(file.bytes, Buffer.byteLength(MAP));
  assert.equal((await gather(file.content)).toString("utf8"), MAP);
  await assert.rejects(store.file(ID, "../../secret"), { name: "NotFoundError", message: /has no file/ });

  const download = await store.download(ID);
  const onDisk = await readFile(join(folder, "crawls", `${NAME}.zip`));
  assert.equal(download.bytes, onDisk.length);
  assert.ok((await gather(download.content)).equals(onDisk));

  assert.deepEqual(await store.remove(ID), summary);
  assert.deepEqual(await readdir(join(folder, "crawls")), []);
  const missing = { name: "NotFoundError", message: `Report '${ID}' does not exist.` };
  await assert.rejects(store.get(ID), missing);
  await assert.rejects(store.file(ID, "report.json"), missing);
  await assert.rejects(store.download(ID), missing);
  await assert.rejects(store.remove(ID), missing);
});

test("crawls that end in the same second get names of their own, and newer ones are listed first", async (t) => {
  const { store, archive } = await openStore(t);
  const ids = await Promise.all(Array.from({ length: 4 }, () => store.archive(archive)));
  assert.deepEqual(ids.sort(), [ID, `${ID}_2`, `${ID}_3`, `${ID}_4`]);
  assert.equal(await store.archive(archive), `${ID}_5`);
  const later = await store.archive({ ...archive, finishedAt: "2026-01-16T00:00:00.000000Z", scope: "files" });
  const listed = (await store.list()).map(({ reportId }) => reportId);
  assert.deepEqual(listed, [later, `${ID}_5`, `${ID}_4`, `${ID}_3`, `${ID}_2`, ID]);
  for (const id of ids) assert.equal((await store.get(id)).json["report_id"], id);
});

test("only the reports of a domain, only a part of them, and how many there are", async (t) => {
  const { store, archive } = await openStore(t);
  const domains = ["DEMO", "DEMO_all_full", "A", "DEMO"];
  for (const [day, domain] of domains.entries()) {
    await store.archive({
      ...archive,
      domainId: domain as DomainId,
      finishedAt: `2026-02-0${day + 1}T00:00:00.000000Z`,
    });
  }
  const days = async (options: Parameters<ReportStore["list"]>[0]): Promise<string[]> =>
    (await store.list(options)).map(({ reportId }) => reportId.slice(15, 17));
  assert.deepEqual(await days({ domainId: "DEMO" as DomainId }), ["04", "01"]);
  assert.deepEqual(await days({ domainId: "DEMO_all_full" as DomainId }), ["02"]);
  assert.deepEqual(await days({ offset: 1, limit: 2 }), ["03", "02"]);
  assert.deepEqual(await days({ offset: 9, limit: 2 }), []);
  assert.equal(await store.count(), 4);
  assert.equal(await store.count({ domainId: "DEMO" as DomainId }), 2);
});

test("old reports are removed, the newest of every domain never, nor what is no report", async (t) => {
  const { store, folder, archive } = await openStore(t);
  const at = (daysAgo: number): string => toUtcMicros(new Date(Date.now() - daysAgo * 86_400_000));
  const add = (domain: string, daysAgo: number): Promise<string> =>
    store.archive({ ...archive, domainId: domain as DomainId, finishedAt: at(daysAgo) });
  const kept = [await add("DEMO", 1), await add("DEMO", 29), await add("QUIET", 900)];
  const old = [await add("DEMO", 31), await add("DEMO", 400), await add("QUIET", 901)];
  await writeFile(join(folder, "crawls", "notes.zip"), "mine");
  const told = await store.removeOldReports(30, { dryRun: true });
  assert.deepEqual(await store.removeOldReports(30), told);
  assert.deepEqual(told.map(({ id }) => id).sort(), old.sort());
  assert.deepEqual((await store.list()).map(({ reportId }) => reportId).sort(), kept.sort());
  assert.ok((await readdir(join(folder, "crawls"))).includes("notes.zip"));
  assert.deepEqual(await store.removeOldReports(30), []);
});

test("a large map is copied whole, and a damaged copy is noticed while it is read", async (t) => {
  const { store, folder, archive, mapFile } = await openStore(t);
  const line = "0123456789abcdef,Bericht.docx\r\n";
  const large = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i + line).join(""));
  await writeFile(mapFile, large);
  await store.archive(archive);
  const path = "01_files/docs/files_map.csv";
  assert.ok((await gather((await store.file(ID, path)).content)).equals(large));

  const zip = join(folder, "crawls", `${NAME}.zip`);
  const bytes = await readFile(zip);
  bytes.fill(0x55, 5000, 5200);
  await writeFile(zip, bytes);
  await assert.rejects(gather((await store.file(ID, path)).content));
  assert.equal((await store.get(ID)).ok, false);
  assert.equal((await store.get(ID)).error, "Source 'docs': one item failed.");
});

test("a map nobody has written since is copied packed from the last report; one that was written is packed anew", async (t) => {
  const { store, archive, mapFile } = await openStore(t);
  const path = "01_files/docs/files_map.csv";
  await store.archive(archive);
  const second = await store.archive({ ...archive, finishedAt: "2026-01-15T15:25:00.000000Z" });
  assert.equal((await gather((await store.file(second, path)).content)).toString("utf8"), MAP);
  await writeFile(mapFile, `${MAP}2,neu.docx\r\n`);
  const third = await store.archive({ ...archive, finishedAt: "2026-01-15T16:25:00.000000Z" });
  assert.match((await gather((await store.file(third, path)).content)).toString("utf8"), /neu\.docx/);
  assert.doesNotMatch((await gather((await store.file(second, path)).content)).toString("utf8"), /neu\.docx/);
});

test("a last report that is damaged is of no use, and no harm", async (t) => {
  const { store, folder, archive } = await openStore(t);
  await store.archive(archive);
  await writeFile(join(folder, "crawls", "2026-01-15_15-00-00_DEMO_all_full.zip"), "no zip");
  const next = await store.archive({ ...archive, finishedAt: "2026-01-15T15:25:00.000000Z" });
  const content = await gather((await store.file(next, "01_files/docs/files_map.csv")).content);
  assert.equal(content.toString("utf8"), MAP);
});

const BROKEN: readonly [title: string, bytes: () => Uint8Array, error: RegExp][] = [
  ["an empty file", () => new Uint8Array(0), /it has no directory/],
  ["something else", () => strToU8("x".repeat(100_000)), /it has no directory/],
  ["a cut archive", () => zipSync({ "report.json": strToU8("{}") }).subarray(0, 60), /it has no directory/],
  ["no report.json", () => zipSync({ "a.csv": strToU8("a") }), /it has no report\.json/],
  ["a report.json that is none", () => zipSync({ "report.json": strToU8("[1") }), /JSON/],
  ["a list for a report", () => zipSync({ "report.json": strToU8("[]") }), /must hold a JSON object/],
  ["a report.json that is a bomb", () => zipSync({ "report.json": new Uint8Array(9_000_000) }), /too large/],
  ["a bomb that denies its size", () => lyingZip(), /damaged/],
  ["a directory outside the file", () => pointingOutside(), /directory is damaged/],
];
for (const [title, bytes, error] of BROKEN) {
  test(`${title} is listed with its error, and the others beside it`, async (t) => {
    const { store, folder, archive } = await openStore(t);
    const good = await store.archive(archive);
    const bad = parseReportId("crawls/2026-01-16_00-00-00_DEMO_all_full");
    await writeFile(join(folder, `${bad}.zip`), bytes());
    const [first, second, ...others] = await store.list();
    assert.equal(first?.reportId, bad);
    assert.equal(first?.ok, false);
    assert.match(first?.error ?? "", error);
    assert.equal(first?.createdAt, "2026-01-16T00:00:00.000000Z");
    assert.equal(second?.reportId, good);
    assert.deepEqual(others, []);
    assert.match((await store.get(bad)).error, error);
    await store.remove(bad);
    assert.equal((await store.list()).length, 1);
  });
}

test("a file is not unpacked beyond the size it claims", async (t) => {
  const { store, folder } = await openStore(t);
  await mkdir(join(folder, "crawls"), { recursive: true });
  await writeFile(join(folder, `${ID}.zip`), lyingZip());
  let bytes = 0;
  await assert.rejects(async () => {
    for await (const chunk of (await store.file(ID, "report.json")).content) bytes += chunk.length;
  }, /it is damaged/);
  assert.ok(bytes <= 10, `${bytes} bytes came`);
});

test("only files that are named like reports count, and leftovers of a crash are cleared away", async (t) => {
  const { store, folder, archive } = await openStore(t);
  const crawls = join(folder, "crawls");
  await mkdir(join(crawls, "2026-01-01_00-00-00_X_all_full"), { recursive: true });
  await writeFile(join(crawls, "notes.txt"), "mine");
  await writeFile(join(crawls, "a b.zip"), "mine");
  const [old, young] = ["2026-01-01_00-00-00_A_all_full.zip.tmp", "2026-01-01_00-00-00_B_all_full.zip.tmp"];
  for (const name of [old, young]) await writeFile(join(crawls, name), "half");
  const yesterday = new Date(Date.now() - 24 * 60 * 60 * 1000);
  await utimes(join(crawls, old), yesterday, yesterday);
  await store.archive(archive);
  assert.deepEqual(
    (await store.list()).map(({ reportId }) => reportId),
    [ID],
  );
  assert.deepEqual((await readdir(crawls)).sort(), [
    "2026-01-01_00-00-00_B_all_full.zip.tmp",
    "2026-01-01_00-00-00_X_all_full",
    `${NAME}.zip`,
    "a b.zip",
    "notes.txt",
  ]);
});

test("map files that did not change are named in the report that has them, as long as it can be read", async (t) => {
  const { store, folder, archive } = await openStore(t);
  const [source] = archive.sources;
  assert.ok(source);
  const MAPS = ["05_folders/notes/files_map.csv"];
  let day = 1;
  const write = async (mapVersion: string, wishes: Partial<CrawlArchive> = {}): Promise<ReportId> => {
    const content = async function* (): AsyncGenerator<Uint8Array, void> {
      yield Buffer.from(mapVersion);
    };
    const mapFiles = MAPS.map((name) => ({ name, content }));
    const notes = { ...source, sourceType: "folder_sources", sourceId: "notes", mapFiles, mapVersion };
    const finishedAt = `2026-02-${String(day++).padStart(2, "0")}T00:00:00.000000Z`;
    return await store.archive({ ...archive, finishedAt, sources: [notes], ...wishes });
  };
  /** Where the report says the maps are, and which files it has itself. */
  const told = async (id: ReportId): Promise<unknown[]> => {
    const [one] = (await store.get(id)).json["sources"] as Record<string, unknown>[];
    const zip = unzipSync(await readFile(join(folder, `${id}.zip`)));
    return [one?.["map_files_in"], one?.["map_files"], Object.keys(zip).filter((name) => name !== "report.json")];
  };
  const written = [undefined, MAPS, MAPS];

  const first = await write("a.1");
  assert.deepEqual(await told(first), written);
  await write("a.1", { sources: archive.sources });
  const second = await write("a.1");
  const third = await write("a.1");
  for (const id of [second, third]) assert.deepEqual(await told(id), [first, [], []], "not the one that only names it");
  assert.deepEqual(
    (await store.removeOldReports(1)).map(({ id }) => id.slice(7, 17)),
    ["2026-02-03", "2026-02-02"],
    "the one that is named stays",
  );

  await store.remove(first);
  const fourth = await write("a.1");
  assert.deepEqual(await told(fourth), written, "deleted");
  assert.deepEqual(await told(await write("a.1")), [fourth, [], []]);
  await writeFile(join(folder, `${fourth}.zip`), "no zip");
  const sixth = await write("a.1");
  assert.deepEqual(await told(sixth), written, "unreadable");
  assert.deepEqual(await told(await write("a.2")), written, "changed");
  assert.deepEqual(await told(await write("a.1")), written, "changed back: only the last state is looked for");
  assert.deepEqual(await told(await write("")), written, "nobody knows");
  const other = await write("a.1", { domainId: "OTHER" as DomainId });
  assert.deepEqual(await told(other), written, "another domain");
});

test("a report that cannot be written leaves nothing behind", async (t) => {
  const { store, folder, archive } = await openStore(t);
  const source = archive.sources[0];
  assert.ok(source);
  const mapFiles = [...source.mapFiles, { name: "01_files/docs/x.csv", path: folder }];
  await assert.rejects(
    store.archive({ ...archive, sources: [{ ...source, mapFiles }] }),
    new RegExp(`write report '${ID}'`),
  );
  assert.deepEqual(await readdir(join(folder, "crawls")), []);
  await assert.rejects(store.archive({ ...archive, scope: "../../x" }), /'report_id' must be/);
});

test("an id that leaves the folder, or needs encoding, is refused", () => {
  for (const id of [
    "",
    "crawls",
    "crawls/",
    "crawls/..",
    `crawls/../${NAME}`,
    `../crawls/${NAME}`,
    `other/${NAME}`,
    `crawls/${NAME}/x`,
    `crawls/${NAME}.zip`,
    `crawls/${NAME}\u0000`,
    `crawls/2026-01-15_14-25-00_..%2f..`,
    `crawls\\${NAME}`,
    `crawls/2026-01-15_14-25-00_[DEMO]_[x]`,
    `crawls/${NAME}${"x".repeat(200)}`,
  ]) {
    assert.throws(() => parseReportId(id), { name: "BadInputError" }, id);
  }
});

interface World {
  readonly store: ReportStore;
  readonly folder: string;
  readonly mapFile: string;
  readonly archive: CrawlArchive;
}

async function openStore(t: TestContext): Promise<World> {
  const root = await mkdtemp(join(tmpdir(), "lockstep-reports-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  const mapFile = join(root, "files_map.csv");
  await writeFile(mapFile, MAP);
  const at = new Date("2026-01-15T14:24:00Z");
  await utimes(mapFile, at, at);
  const folder = join(root, "reports");
  const archive: CrawlArchive = {
    domainId: "DEMO" as DomainId,
    jobId: "jb_7" as JobId,
    mode: "full",
    scope: "all",
    sourceId: "",
    startedAt: "2026-01-15T14:20:00.000000Z",
    finishedAt: "2026-01-15T14:25:00.000000Z",
    ok: false,
    error: "Source 'docs': one item failed.",
    sources: [
      {
        sourceType: "file_sources",
        sourceId: "docs",
        complete: true,
        error: "",
        total: 5,
        added: 2,
        changed: 1,
        moved: 0,
        removed: 1,
        failed: 1,
        mapFiles: [
          { name: "01_files/docs/files_map.csv", path: mapFile },
          { name: "01_files/docs/vectorstore_map.csv", path: join(root, "vectorstore_map.csv") },
        ],
      },
    ],
  };
  return { store: createReportStore(folder), folder, mapFile, archive };
}

async function gather(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Says 10 bytes in its directory and unpacks to many. */
function lyingZip(): Uint8Array {
  const bytes = Buffer.from(zipSync({ "report.json": new Uint8Array(50_000_000) }));
  const directory = bytes.indexOf("PK\u0001\u0002");
  bytes.writeUInt32LE(10, directory + 24);
  return bytes;
}

function pointingOutside(): Uint8Array {
  const bytes = Buffer.from(zipSync({ "report.json": strToU8("{}") }));
  bytes.writeUInt32LE(0xfffffff0, bytes.indexOf("PK\u0005\u0006") + 12);
  return bytes;
}
