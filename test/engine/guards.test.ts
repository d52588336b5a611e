// A run that lost its lease stops, and files are neither deleted nor buried for what others did meanwhile.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { ConflictError } from "../../src/contracts/errors.ts";
import { type ItemId, type JobId, parseDomainId, parseSourceId, type VectorStoreId } from "../../src/contracts/ids.ts";
import type { JobContext } from "../../src/contracts/job.ts";
import type { Mirrored } from "../../src/contracts/ledger.ts";
import type { Index } from "../../src/contracts/search-index.ts";
import type { SourceRun } from "../../src/contracts/source-kind.ts";
import { recordFailures } from "../../src/engine/commit-plan.ts";
import type { EngineParts } from "../../src/engine/engine-parts.ts";
import { noCounts } from "../../src/engine/tally.ts";
import { verifyMirror } from "../../src/engine/verify-mirror.ts";
import { withLedger } from "../../src/engine/with-ledger.ts";
import { SqlPlan } from "../../src/ledger/sql-plan.ts";
import { Mirror } from "../../src/mirror/mirror.ts";
import { ofKind } from "../kinds.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";

const crawler = await mkdtemp(join(tmpdir(), "lockstep-guards-"));
after(async () => {
  await ledgers.close();
  await rm(crawler, { recursive: true, force: true });
});

const lines: string[] = [];
const job: JobContext = {
  jobId: "jb_1" as JobId,
  dryRun: false,
  signal: new AbortController().signal,
  log: (line) => lines.push(line),
  checkpoint: async () => undefined,
};
let count = 0;

function newRun(): { run: SourceRun; root: string } {
  const sourceId = parseSourceId(`s${++count}`);
  const limits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };
  const config = { sourceId, ...ofKind("file_sources"), siteUrl: "", urlPart: "", filter: "", limits } as const;
  return { run: { domainId: parseDomainId("D"), config }, root: `D/01_files/${sourceId}` };
}

const ledgers = openTestLedgers(crawler);
const openLedger = (run: SourceRun) => ledgers.open(run, { readOnly: false });

async function place(mirror: Mirror, path: string): Promise<string> {
  const file = mirror.embeddedFile(path);
  await mkdir(dirname(mirror.absolute(file)), { recursive: true });
  await writeFile(mirror.absolute(file), "text");
  return file;
}

function mirroredAt(file: string): Mirrored {
  const fingerprint = { size: 4, modifiedAt: "2024-01-15T10:30:00.000000Z", etag: "", contentVersion: "" };
  const observed = { size: 4, mtimeMs: 0, sha256: "aa" };
  const names = { listItemId: 1, name: "a.pdf", serverPath: "/L/a.pdf" };
  return { ...names, file, fingerprint, downloadedAt: "", sourceError: "", processingError: "", observed };
}

test("a run whose lease was taken over stops at its next checkpoint and leaves the ledger and the map files alone", async (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
  const { run, root } = newRun();
  const parts = {
    crawlerFolder: crawler,
    ledgers,
  } as unknown as EngineParts;
  const work = withLedger(run, { step: "download" }, parts, job, async ({ ledger, job: guarded }) => {
    ledger.put("mine" as ItemId, { mirrored: mirroredAt("") });
    await guarded.checkpoint();
    const file = new DatabaseSync(join(crawler, run.domainId, "ledger.sqlite"));
    file.exec("UPDATE lease SET owner = 'job jb_999', nonce = 'of another'");
    file.close();
    t.mock.timers.tick(11_000);
    await guarded.checkpoint();
  });
  await assert.rejects(work, ConflictError);
  assert.equal(await (await ledgers.open(run, { readOnly: true })).get("mine" as ItemId), undefined);
  assert.ok(!existsSync(join(crawler, root, "files_map.csv")));
});

test("an orphan is deleted; a file that came while the run was on may be another step's and is not", async () => {
  const { run, root } = newRun();
  const mirror = new Mirror(crawler, root);
  const file = await place(mirror, "nobody.txt");
  const ledger = await openLedger(run);
  const detected = { completeness: "complete", unreadable: [], listed: 0, withheld: [], heldBecause: "" } as const;
  const disk = await mirror.scan();
  const placedAtMs = disk.get(file)?.placedAtMs ?? 0;
  const size = { removed: 0, moved: 0, fetched: 0, staying: 0, strayed: 0, healed: 0 };
  const plan = {
    items: SqlPlan.temporary(),
    size,
    isHashed: false,
    unapproved: undefined,
    found: 0,
    hashed: 0,
    detected,
    disk,
    delta: undefined,
  };
  const step = { ledger, mirror, converter: undefined, job };
  const applied = { counts: noCounts(), returned: new Set<string>(), before: undefined };
  await verifyMirror({ ...plan, startedAtMs: placedAtMs - 1 }, applied, step);
  assert.ok(existsSync(mirror.absolute(file)));
  await verifyMirror({ ...plan, startedAtMs: placedAtMs + 1 }, applied, step);
  assert.ok(!existsSync(mirror.absolute(file)));
});

/** One file that the index refused for good, about to be written down. */
async function refuse(mirror: Mirror, run: SourceRun, meanwhile: (file: string) => Promise<void>): Promise<void> {
  const file = await place(mirror, "a.pdf");
  const { mtimeMs } = await stat(mirror.absolute(file));
  const ledger = await openLedger(run);
  ledger.put("a" as ItemId, { mirrored: { ...mirroredAt(file), observed: { size: 4, mtimeMs, sha256: "aa" } } });
  await ledger.flush();
  const entry = await ledger.get("a" as ItemId);
  assert.ok(entry?.mirrored);
  const outcome = {
    put: new Set([entry.itemId]),
    versions: new Map([[entry.itemId, entry.mirrored]]),
    failed: [{ itemId: "a" as ItemId, reason: "broken", permanent: true }],
  };
  await meanwhile(mirror.absolute(file));
  const index = undefined as unknown as Index;
  const target = { index, store: "vs_1" as VectorStoreId, isOwn: true };
  const extractor = { revision: "1" } as EngineParts["extractor"];
  await recordFailures(outcome, { ledger, mirror, target, job }, { extractor });
  await ledger.close();
}

test("when a failed file arrives in 03_failed, the ledger says so already", async () => {
  const { run, root } = newRun();
  let fileThen = "";
  class WatchedMirror extends Mirror {
    override async moveIn(itemId: ItemId, file: string): Promise<void> {
      fileThen = (await (await ledgers.open(run, { readOnly: true })).get(itemId))?.mirrored?.file ?? "";
      await super.moveIn(itemId, file);
    }
  }
  await refuse(new WatchedMirror(crawler, root), run, async () => undefined);
  assert.equal(fileThen, `${root}/03_failed/a.pdf`);
  assert.ok(existsSync(join(crawler, root, "03_failed/a.pdf")));
});

test("a file that a download replaced after it was refused is not buried for what its predecessor was", async () => {
  const { run, root } = newRun();
  await refuse(new Mirror(crawler, root), run, (path) => writeFile(path, "a good one now"));
  assert.ok(existsSync(join(crawler, root, "02_embedded/a.pdf")));
  assert.doesNotMatch(await readFile(join(crawler, root, "vectorstore_map.csv"), "utf8"), /broken/);
});
