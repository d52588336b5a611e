import { copyFile, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ConflictError } from "../../contracts/errors.ts";
import { MANIFEST_FILE } from "../../contracts/manifest.ts";
import { hashFile } from "../../lib/hash-file.ts";
import { moveIfThere } from "../../lib/move-if-there.ts";
import { pathExists } from "../../lib/path-exists.ts";
import { PRIVATE_FOLDER } from "../../mirror/layout.ts";
import { type Backup, copyStore, lastBackup } from "./backup.ts";
import { STORE_FOLDERS } from "./earlier-store.ts";
import { type MigratedSource, migrationFolder } from "./migrate-source.ts";

/**
 * Puts the store back as it was before the last migration. What takes its place is kept beside the backup, so nothing is lost.
 * Killed anywhere, it is simply done again. undefined: there is nothing to undo. ConflictError when a crawl has written since.
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

/** Of a store that came from elsewhere no manifest is left here, while maps, mirror and index still have the documents of the crawl. */
function whatFollows({ from }: Backup): string {
  return `A crawl then recalls the documents from the mirror, with their current texts only; to go on with all their versions, migrate again first, with --from ${from}.`;
}

/** migrated: as it was then. written: somebody changed it. undone: it is back already, or was never exchanged. */
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

/** The earlier manifest first: no crawl works with it. */
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
