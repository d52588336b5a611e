import { copyFile, mkdir, readFile, realpath, rename, rm } from "node:fs/promises";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import type { SourceConfig } from "../../contracts/domain.ts";
import { BadInputError, ConflictError } from "../../contracts/errors.ts";
import { type DomainId, type ItemId, isDocumentId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import { MANIFEST_FILE, type ManifestEntry } from "../../contracts/manifest.ts";
import { writeFileAtomic } from "../../lib/atomic-file.ts";
import { moveIfThere, pathExists } from "../../lib/file-system.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { hashFile, sha256Of } from "../../lib/hash.ts";
import { plural } from "../../lib/text.ts";
import { toUtcMicros } from "../../lib/time.ts";
import { KnowledgeBase } from "../../mirror/knowledge-base.ts";
import { PRIVATE_FOLDER } from "../../mirror/layout.ts";
import type { EngineParts } from "../engine-parts.ts";
import { type Backup, copyStore, dropPartialBackups, lastBackup, makeBackup, noteMigrated } from "./backup.ts";
import {
  type EarlierDocument,
  type EarlierFile,
  type EarlierStore,
  layoutOf,
  readEarlierManifest,
  readEarlierStore,
  STORE_FOLDERS,
} from "./earlier-store.ts";

/** A source of the one kind that earlier releases followed by manifests of their own. */
export interface EarlierFolder extends SourceConfig {
  readonly root: string;
}

const SHOWN = 20;

/** A source under its leases. */
export interface MigratedSource {
  readonly domainId: DomainId;
  readonly config: EarlierFolder;
  /** Its folder, absolute. */
  readonly folder: string;
  readonly parts: Pick<EngineParts, "ledgers" | "now">;
  readonly job: JobContext;
}

/** The result of a migration, done or planned. */
interface Migration {
  readonly backup: string;
  readonly files: number;
  readonly newIds: number;
  readonly leftOut: number;
  readonly documents: number;
  readonly versions: number;
}

/** The working folder of a migration: the new store, and the replaced one, until it is done. */
function migrationFolder(folder: string): string {
  return join(folder, PRIVATE_FOLDER, "migration");
}

/**
 * Converts a store of an earlier layout, in the source's folder or in another one, to the current layout, after a
 * backup. The manifest is replaced last: after a kill before that, the source still has its earlier one, which no crawl
 * accepts, and migrating again continues from the backup. undefined: nothing to do.
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
  if (job.dryRun) return summarize(await plan(source, isBackedUp ? before.folder : store), undefined, source);
  const backup = isBackedUp ? before : await makeBackup(store, folder, { from, now: source.parts.now() }, job);
  job.log(`Backup: ${backup.folder}`);
  return await applyMigration(source, backup);
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
  // A large manifest may not have been exported yet.
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

async function applyMigration(source: MigratedSource, backup: Backup): Promise<Migration> {
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
  return { ...summarize(planned, backup, source), documents, versions };
}

/** A kill in here leaves the earlier manifest, so no crawl begins with half of a store. */
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

function summarize(planned: EntryPlan, backup: Backup | undefined, { job }: MigratedSource): Migration {
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
 * Builds `knowledge_base/` in a separate folder, from copies of the documents. The texts are of another extractor, so
 * the next crawl makes the current ones again; earlier ones stay.
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

/** An entry of the current layout, and its document. */
interface PlannedEntry {
  readonly entry: ManifestEntry;
  readonly document: EarlierDocument | undefined;
}

interface EntryPlan {
  readonly entries: readonly PlannedEntry[];
  /** Files that get a new id. */
  readonly renamed: readonly { readonly path: string; readonly from: string; readonly to: ItemId }[];
  /** Files that are not migrated. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
}

interface PlanOptions {
  /** All names of the source's root, absolute. */
  readonly roots: readonly string[];
  readonly now: string;
}

/** Plans every file of the store. Files keep their ids, if these are valid folder names and unique. */
function planEntries({ files, documents }: EarlierStore, options: PlanOptions): EntryPlan {
  const entries: PlannedEntry[] = [];
  const renamed: EntryPlan["renamed"][number][] = [];
  const leftOut: EntryPlan["leftOut"][number][] = [];
  const [paths, ids] = [new Set<string>(), new Set<string>()];
  for (const file of byRight(files, documents)) {
    const path = options.roots.map((root) => pathBelow(root, file.path)).find((found) => found !== "");
    const isTaken = ids.has(file.docId.toLowerCase());
    const reason = reasonToLeaveOut(file, { isBelow: path !== undefined, isTwice: paths.has(path ?? ""), isTaken });
    if (path === undefined || reason !== "") {
      leftOut.push({ path: file.path, reason });
      continue;
    }
    paths.add(path);
    const isOwn = isDocumentId(file.docId) && !isTaken;
    const docId = isOwn ? (file.docId as ItemId) : newId(file);
    ids.add(docId.toLowerCase());
    if (!isOwn && file.docId !== "") renamed.push({ path, from: file.docId, to: docId });
    const document = isOwn && file.status !== "deleted" ? documents.get(file.docId) : undefined;
    entries.push({ entry: entryOf({ ...file, path }, docId, document, options.now), document });
  }
  return { entries, renamed, leftOut };
}

/**
 * Sorts files by their claim to an id: present ones before missing ones (the path before a rename), then the one that
 * the text was made from, then one with the same content.
 */
function byRight(files: readonly EarlierFile[], documents: EarlierStore["documents"]): readonly EarlierFile[] {
  const madeFrom = new Map<string, EarlierFile>();
  for (const file of files) if (documents.get(file.docId)?.sourcePath === file.path) madeFrom.set(file.docId, file);
  const rank = (file: EarlierFile): number => {
    const origin = madeFrom.get(file.docId);
    const hasItsContent = file.contentHash !== "" && origin?.contentHash === file.contentHash;
    return (isAbsent(file) ? 4 : 0) + (origin === file ? 0 : hasItsContent ? 1 : 2);
  };
  return files.toSorted((a, b) => rank(a) - rank(b));
}

function isAbsent({ status }: EarlierFile): boolean {
  return status === "missing" || status === "deleted";
}

/** "" if it is migrated. */
function reasonToLeaveOut(
  file: EarlierFile,
  { isBelow, isTwice, isTaken }: { readonly isBelow: boolean; readonly isTwice: boolean; readonly isTaken: boolean },
): string {
  if (!isBelow) return "it is not below the root of the source";
  if (isTwice) return "it is there twice";
  return isTaken && isAbsent(file) ? "it is gone, and another file has its document now" : "";
}

/** Deterministic: undone and migrated again, a file gets the same id. */
function newId({ docId, path, contentHash }: EarlierFile): ItemId {
  const name = JSON.stringify([docId, path, contentHash]);
  return `doc_${sha256Of(name).slice(0, 32)}` as ItemId;
}

/** `/`-separated; "" if it is not below the root. */
function pathBelow(root: string, path: string): string {
  const below = relative(root, resolve(root, path));
  const isOutside = below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below);
  return isOutside ? "" : below.split(sep).join("/");
}

/** Without a stamp, so the next crawl reads the file once, and recognises it by path and hash. */
function entryOf(file: EarlierFile, docId: ItemId, document: EarlierDocument | undefined, now: string): ManifestEntry {
  const { path, contentHash, size, modifiedAt, status, retryCount } = file;
  const hash = document && isOf(document, file) ? contentHash : "";
  const versions = [...(document?.versions.keys() ?? [])].map((versionId) => ({ versionId, at: now, hash: "" }));
  if (document) versions.push({ versionId: `v${document.version}`, at: now, hash });
  return {
    ...{ path, docId, contentHash, size, modifiedAt, stamp: "", node: "", status },
    ...{
      lastSeenAt: now,
      retryCount: status === "error" ? retryCount : 0,
      error: status === "error" ? "It could not be read before." : "",
    },
    ...{ missingSinceAt: isAbsent(file) ? now : "", missingRuns: 0, deletedAt: status === "deleted" ? now : "" },
    ...{ versions, lineage: [] },
  };
}

/** Whether the text was made from the content in the manifest: a file edited later may not have been ingested again. */
export function isOf(document: EarlierDocument, { modifiedAt }: Pick<EarlierFile, "modifiedAt">): boolean {
  return modifiedAt !== "" && document.modifiedAt === modifiedAt;
}

/**
 * Restores the store as it was before the last migration. The replaced store is kept beside the backup, so nothing is
 * lost. Repeatable after a kill. undefined: nothing to undo. ConflictError if a crawl has written since.
 */
export async function undoMigration(
  source: MigratedSource,
  { force }: { readonly force: boolean },
): Promise<{ readonly backup: string; readonly replaced: string } | undefined> {
  const { folder, config, job } = source;
  const backup = await lastBackup(folder);
  if (!backup?.migratedHash) return undefined;
  const state = await stateOf(folder, backup);
  if (state === "written" && !force) {
    const reason = `A crawl has written to source '${config.sourceId}' since it was migrated.`;
    const kept = `With --force that is undone, too; it is kept in ${backup.folder}.replaced.`;
    throw new ConflictError(`${reason} ${kept}${backup.from === "" ? "" : ` ${whatFollows(backup)}`}`);
  }
  const replaced = `${backup.folder}.replaced`;
  if (job.dryRun) return { backup: backup.folder, replaced };
  await keepReplaced(source, state, replaced);
  await putBack(source, backup, replaced);
  await rename(backup.folder, `${backup.folder}.undone`);
  if (state === "written" && backup.from !== "") job.log(`WARNING: ${whatFollows(backup)}`);
  return { backup: `${backup.folder}.undone`, replaced };
}

/**
 * For a store from another folder: no manifest is left here, but maps, mirror and index still have the crawled
 * documents.
 */
function whatFollows({ from }: Backup): string {
  return `A crawl then recalls the documents from the mirror, with their current texts only; to go on with all their versions, migrate again first, with --from ${from}.`;
}

/** migrated: unchanged since. written: changed since. undone: restored already, or never replaced. */
async function stateOf(folder: string, backup: Backup): Promise<"migrated" | "written" | "undone"> {
  const manifest = join(folder, MANIFEST_FILE);
  if (!(await pathExists(manifest))) return "undone";
  const hash = await hashFile(manifest);
  if (hash === backup.manifestHash) return "undone";
  return hash === backup.migratedHash ? "migrated" : "written";
}

async function keepReplaced(source: MigratedSource, state: string, replaced: string): Promise<void> {
  const { folder, parts } = source;
  await mkdir(replaced, { recursive: true });
  if (state === "undone") return;
  if (state === "written") await parts.ledgers.exportManifest(source);
  await copyFile(join(folder, MANIFEST_FILE), join(replaced, MANIFEST_FILE));
}

/** The earlier manifest first: no crawl accepts it. */
async function putBack(source: MigratedSource, backup: Backup, replaced: string): Promise<void> {
  const { folder, job, parts } = source;
  const wasHere = backup.from === "";
  const copied = migrationFolder(folder);
  await rm(copied, { recursive: true, force: true });
  if (wasHere) {
    await copyStore(backup.folder, copied, job);
    await rename(join(copied, MANIFEST_FILE), join(folder, MANIFEST_FILE));
  }
  const kept = join(replaced, "knowledge_base");
  if (!(await pathExists(kept))) await moveIfThere(join(folder, "knowledge_base"), kept);
  for (const name of STORE_FOLDERS) {
    await rm(join(folder, name), { recursive: true, force: true });
    await moveIfThere(join(copied, name), join(folder, name));
  }
  await rm(join(folder, PRIVATE_FOLDER, "tree"), { recursive: true, force: true });
  await parts.ledgers.forgetManifest(source);
  if (!wasHere) await rm(join(folder, MANIFEST_FILE), { force: true });
  await rm(copied, { recursive: true, force: true });
}
