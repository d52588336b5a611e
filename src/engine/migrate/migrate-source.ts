import { mkdir, readFile, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, ConflictError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import { MANIFEST_FILE } from "../../contracts/manifest.ts";
import { writeFileAtomic } from "../../lib/atomic-file.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { hashFile } from "../../lib/hash-file.ts";
import { moveIfThere } from "../../lib/move-if-there.ts";
import { pathExists } from "../../lib/path-exists.ts";
import { plural } from "../../lib/plural.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { KnowledgeBase } from "../../mirror/knowledge/knowledge-base.ts";
import { PRIVATE_FOLDER } from "../../mirror/layout.ts";
import type { EngineParts } from "../engine-parts.ts";
import { type Backup, dropPartialBackups, lastBackup, makeBackup, noteMigrated } from "./backup.ts";
import { layoutOf, readEarlierManifest } from "./earlier-codec.ts";
import type { EarlierFolder } from "./earlier-folder.ts";
import { readEarlierStore, STORE_FOLDERS } from "./earlier-store.ts";
import { type EntryPlan, type PlannedEntry, planEntries } from "./plan-entries.ts";

const SHOWN = 20;

/** A source whose folder nobody else writes to now. */
export interface MigratedSource {
  readonly domainId: DomainId;
  readonly config: EarlierFolder;
  /** Its folder, absolute. */
  readonly folder: string;
  readonly parts: Pick<EngineParts, "ledgers" | "now">;
  readonly job: JobContext;
}

/** What was done, or would be. */
interface Migration {
  readonly backup: string;
  readonly files: number;
  readonly newIds: number;
  readonly leftOut: number;
  readonly documents: number;
  readonly versions: number;
}

/** What a migration makes, and what it takes the place of, until it is done. */
export function migrationFolder(folder: string): string {
  return join(folder, PRIVATE_FOLDER, "migration");
}

/**
 * Brings a store of an earlier layout, in the source's folder or in another one, into the current layout, after a backup. The
 * manifest is exchanged last: killed before, the source still has its earlier one, which no crawl works with, and migrating again
 * goes on from the backup. undefined: there is nothing to do.
 */
export async function migrateSource(source: MigratedSource, from: string): Promise<Migration | undefined> {
  const { folder, job } = source;
  if (!job.dryRun) await dropPartialBackups(folder);
  const layout = await layoutOf(join(folder, MANIFEST_FILE));
  const before = await lastBackup(folder);
  if (from !== "") await checkOrigin(source, from, layout, before);
  else if (layout !== "earlier") {
    if (!job.dryRun) await rm(migrationFolder(folder), { recursive: true, force: true });
    return undefined;
  }
  const store = from || folder;
  await readEarlierManifest(join(store, MANIFEST_FILE));
  const isBackedUp = before?.manifestHash === (await hashFile(join(store, MANIFEST_FILE)));
  if (job.dryRun) return tell(await plan(source, isBackedUp ? before.folder : store), undefined, source);
  const backup = isBackedUp ? before : await makeBackup(store, folder, { from, now: source.parts.now() }, job);
  job.log(`Backup: ${backup.folder}`);
  return await carryOut(source, backup);
}

async function checkOrigin(
  source: MigratedSource,
  from: string,
  layout: "none" | "earlier" | "current",
  before: Backup | undefined,
): Promise<void> {
  if ((await layoutOf(join(from, MANIFEST_FILE))) !== "earlier") {
    throw new BadInputError(`${from} has no ${MANIFEST_FILE} of an earlier layout.`);
  }
  const { config, folder, parts } = source;
  const isResumed = layout === "earlier" && before?.from === from;
  // A large manifest may not have been written yet.
  const { isKnown } = (await parts.ledgers.open(source, { readOnly: true })).manifest;
  if ((layout !== "none" && !isResumed) || (layout === "none" && isKnown)) {
    throw new ConflictError(
      `Source '${config.sourceId}' has a manifest already, in ${folder}. --from is for a source that was never crawled.`,
    );
  }
}

async function plan({ config, parts, job }: MigratedSource, store: string): Promise<EntryPlan> {
  const roots = [config.root, await realpath(config.root).catch(() => config.root)];
  const earlier = await readEarlierStore(store);
  const planned = planEntries(earlier, { roots, now: toUtcMicros(parts.now()) });
  if (planned.entries.length === 0 && planned.leftOut.length > 0) {
    throw new BadInputError(
      `None of its ${plural(planned.leftOut.length, "file")} is below ${config.root}. Is this the right source? One of them: ${planned.leftOut[0]?.path}`,
    );
  }
  const orphans = earlier.documents.size - planned.entries.filter(({ document }) => document).length;
  if (orphans > 0) job.log(`${plural(orphans, "document")} of no file in the manifest will be in the backup only.`);
  return planned;
}

async function carryOut(source: MigratedSource, backup: Backup): Promise<Migration> {
  const { folder, parts, job } = source;
  const planned = await plan(source, backup.folder);
  const made = migrationFolder(folder);
  await rm(made, { recursive: true, force: true });
  const { documents, versions } = await migrateDocuments(made, planned.entries, job);
  await mkdir(made, { recursive: true });
  const pieces: Uint8Array[] = [];
  for await (const piece of parts.ledgers.encodeManifest(planned.entries.map(({ entry }) => entry))) pieces.push(piece);
  await writeFileAtomic(join(made, MANIFEST_FILE), pieces);
  await noteMigrated(backup, await hashFile(join(made, MANIFEST_FILE)));
  await job.checkpoint();
  await exchange(folder, made, backup);
  return { ...tell(planned, backup, source), documents, versions };
}

/** Whoever is killed in here leaves an earlier manifest, so no crawl begins with half of a store. */
async function exchange(folder: string, made: string, backup: Backup): Promise<void> {
  const manifest = join(folder, MANIFEST_FILE);
  if (!(await pathExists(manifest))) {
    await writeFileAtomic(manifest, await readFile(join(backup.folder, MANIFEST_FILE)));
  }
  await mkdir(join(made, "old"), { recursive: true });
  for (const name of [...STORE_FOLDERS, ".staging"]) await moveIfThere(join(folder, name), join(made, "old", name));
  await moveIfThere(join(made, "knowledge_base"), join(folder, "knowledge_base"));
  await rm(join(folder, PRIVATE_FOLDER, "tree"), { recursive: true, force: true });
  await rename(join(made, MANIFEST_FILE), manifest);
  await rm(made, { recursive: true, force: true });
}

function tell(planned: EntryPlan, backup: Backup | undefined, { job }: MigratedSource): Migration {
  const { entries, renamed, leftOut } = planned;
  for (const { path, reason } of leftOut.slice(0, SHOWN)) job.log(`WARNING: '${path}' is left out: ${reason}.`);
  if (leftOut.length > SHOWN) job.log(`... and ${leftOut.length - SHOWN} more.`);
  for (const { path, from, to } of renamed.slice(0, SHOWN)) {
    job.log(`'${path}' gets the id ${to}: '${from}' cannot be the name of a folder, or belongs to another file.`);
  }
  if (renamed.length > SHOWN) job.log(`... and ${renamed.length - SHOWN} more.`);
  job.log(`${plural(entries.length, "file")} in the manifest.`);
  const kept = entries.flatMap(({ document }) => (document ? [document] : []));
  return {
    backup: backup?.folder ?? "",
    files: entries.length,
    newIds: renamed.length,
    leftOut: leftOut.length,
    documents: kept.length,
    versions: kept.reduce((sum, { versions }) => sum + versions.size, 0),
  };
}

/**
 * Makes `knowledge_base/` below a folder of its own, from documents that stay where they are. The texts are those of another
 * extractor, so the next crawl makes the current ones again; earlier ones stay as they were.
 */
async function migrateDocuments(
  folder: string,
  entries: readonly PlannedEntry[],
  job: JobContext,
): Promise<{ readonly documents: number; readonly versions: number }> {
  const base = new KnowledgeBase(folder);
  let [documents, versions] = [0, 0];
  for (const { entry, document } of entries) {
    if (!document) continue;
    await job.checkpoint();
    const { docId, path, modifiedAt } = entry;
    const { title } = document;
    const adopted = entry.versions.map(({ versionId, at, hash }) => ({
      ...{
        versionId,
        at,
        hash,
        path,
        fileType: fileTypeOf(path),
        modifiedAt,
        title,
        createdAt: document.createdAt || at,
      },
      textFile: join(document.versions.get(versionId) ?? document.folder, "content.md"),
    }));
    await base.adopt(docId, adopted);
    documents += 1;
    versions += document.versions.size;
  }
  return { documents, versions };
}
