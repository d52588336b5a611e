import assert from "node:assert/strict";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_LIMITS } from "../../src/contracts/domain.ts";
import { parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import type { JobContext } from "../../src/contracts/job.ts";
import { layoutOf } from "../../src/engine/migrate/earlier-store.ts";
import { type MigratedSource, migrateSource, undoMigration } from "../../src/engine/migrate/migrate-source.ts";
import type { FolderSourceConfig } from "../../src/sources/folder/folder-source-codec.ts";
import { ofKind } from "../kinds.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import { contentsOf, writeEarlierStore } from "./earlier-store.ts";

/**
 * Migrates and undoes in a process of its own, in which the disk fails from its n-th operation on, for every n, or for those of
 * one `step` that begin with `first`: nothing is tidied up then, as after a kill. Whatever that leaves, the store is in one layout
 * or the other, the backup is whole, and a second attempt ends as the first would have.
 */
const [step = 1, first = 0] = process.argv.slice(2).map(Number);
const OPERATIONS = ["copyFile", "mkdir", "open", "rename", "rm", "readdir", "stat"] as const;
const real = Object.fromEntries(OPERATIONS.map((name) => [name, promises[name]]));
let left = Number.POSITIVE_INFINITY;
for (const name of OPERATIONS) {
  const operate = promises[name] as (...args: unknown[]) => Promise<unknown>;
  Object.assign(promises, {
    [name]: async (...args: unknown[]) => {
      left -= 1;
      if (left < 0) throw new Error("the disk is gone");
      return await operate.apply(promises, args);
    },
  });
}
syncBuiltinESMExports();

const PLACE = await promises.mkdtemp(join(tmpdir(), "lockstep-crashes-"));
const job: JobContext = {
  jobId: "jb_1" as JobContext["jobId"],
  dryRun: false,
  signal: new AbortController().signal,
  log: () => undefined,
  checkpoint: async () => undefined,
};
const root = join(PLACE, "root");
const DOMAIN = parseDomainId("D");
const ledgers = openTestLedgers(PLACE);
const FILES = {
  [join(root, "a.txt")]: { docId: "doc_a", bytes: "a", text: "text of a", earlier: ["older text of a"] },
  [join(root, "b.txt")]: { docId: "not / a name", bytes: "b" },
};
const OURS = [".lockstep", "backup"];

function sourceAt(name: string): MigratedSource {
  const tree = { include: [], exclude: [], hidden: false, gitignore: false, maxFileBytes: 1e6, limits: DEFAULT_LIMITS };
  const config: FolderSourceConfig = { ...ofKind("folder_sources"), sourceId: parseSourceId("docs"), root, ...tree };
  const now = () => new Date("2026-01-01T00:00:00Z");
  return { domainId: DOMAIN, config, folder: join(PLACE, name), parts: { ledgers, now }, job };
}

/** What is in the folder of the source, whichever snapshot it is. */
async function outcome({ folder }: MigratedSource): Promise<Record<string, string>> {
  const contents = await contentsOf(folder, OURS);
  const told = contents["manifest.json"]?.replace(/"updated_at":"[^"]+"/, "");
  return told === undefined ? contents : { ...contents, "manifest.json": told };
}

/** Fails the work at its n-th operation, for as long as there is one; `check` sees what that leaves. */
async function failEverywhere(
  make: (n: number) => Promise<MigratedSource>,
  work: (source: MigratedSource) => Promise<unknown>,
  check: (source: MigratedSource) => Promise<void>,
): Promise<number> {
  for (let n = first; ; n += step) {
    const source = await make(n);
    left = n;
    const failed = await work(source).then(
      () => false,
      () => true,
    );
    const isOver = !failed && left >= 0;
    left = Number.POSITIVE_INFINITY;
    await check(source);
    if (isOver) return n;
  }
}

for (const kind of ["here", "from"] as const) {
  const store = join(PLACE, `${kind}-store`);
  const from = kind === "from" ? store : "";
  const make = async (name: string): Promise<MigratedSource> => {
    const source = sourceAt(`${kind}-${name}`);
    await promises.mkdir(source.folder, { recursive: true });
    await writeEarlierStore(from || source.folder, FILES);
    return source;
  };
  const reference = await make("reference");
  const before = await outcome(reference);
  const original = await contentsOf(from || reference.folder, OURS);
  await migrateSource(reference, from);
  const migrated = await outcome(reference);
  assert.ok("knowledge_base/documents/doc_a/versions/v1/content.md" in migrated);

  const points = await failEverywhere(
    (n) => make(`migrate-${n}`),
    (source) => migrateSource(source, from),
    async (source) => {
      const layout = await layoutOf(join(source.folder, "manifest.json"));
      const now = await outcome(source);
      const isUntouched = JSON.stringify(now) === JSON.stringify(before);
      if (layout === "current") assert.deepEqual(now, migrated);
      if (!isUntouched) {
        const names = (await promises.readdir(join(source.folder, "backup"))).filter((name) => !name.includes("."));
        const { "migration.json": _note, ...kept } = await contentsOf(join(source.folder, "backup", names[0] ?? ""));
        assert.deepEqual(kept, original, "the backup is whole");
      }
      if (layout !== "current") await migrateSource(source, from);
      assert.deepEqual(await outcome(source), migrated, "the second attempt ends as the first would have");
    },
  );
  const undoPoints = await failEverywhere(
    async (n) => {
      const source = await make(`undo-${n}`);
      await migrateSource(source, from);
      return source;
    },
    (source) => undoMigration(source, { force: false }),
    async (source) => {
      await undoMigration(source, { force: false });
      assert.deepEqual(await outcome(source), before, "everything is as it was");
    },
  );
  process.stdout.write(`${kind}: ${points} ${undoPoints}\n`);
}
Object.assign(promises, real);
syncBuiltinESMExports();
await promises.rm(PLACE, { recursive: true });
