import { randomBytes } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import { namesIn, pathExists } from "../lib/file-system.ts";

export interface DomainFolders {
  readonly domainsFolder: string;
  readonly crawlerFolder: string;
}

/**
 * Removes the domain by one rename. The folder in the trash also records that its mirror must go: after a crash,
 * `finishRemoval` completes it, and there is never half a domain.
 */
export async function moveToTrash(folders: DomainFolders, id: DomainId): Promise<void> {
  const trash = trashFolder(folders);
  await mkdir(trash, { recursive: true });
  // Ids contain no tilde, so the id can be read back from the name.
  await rename(join(folders.domainsFolder, id), join(trash, `${id}~${randomBytes(6).toString("hex")}`));
}

/** Ids of domains whose removal a crash interrupted. */
export async function unfinishedRemovals(folders: DomainFolders): Promise<DomainId[]> {
  const ids = (await trashNames(folders)).map(idOf);
  return [...new Set(ids)] as DomainId[];
}

/**
 * Removes the mirror of a removed domain and then the domain itself from the trash. Must come before a domain with the
 * same id is created: its first crawl would otherwise believe the old map files. The caller holds the domain's lock.
 */
export async function finishRemoval(folders: DomainFolders, id: string): Promise<void> {
  const names = (await trashNames(folders)).filter((name) => idOf(name) === id);
  if (names.length === 0) return;
  if (!(await pathExists(join(folders.domainsFolder, id, "domain.json")))) {
    // A job that waits for a lease may create the folder again; it then finds that the domain is gone.
    await rm(join(folders.crawlerFolder, id), { recursive: true, force: true, maxRetries: 5 });
  }
  for (const name of names) await rm(join(trashFolder(folders), name), { recursive: true, force: true });
}

/** Throws if the mirror folder exists: the first crawl of a new domain would use its map files. */
export async function refuseLeftovers({ crawlerFolder }: DomainFolders, id: DomainId): Promise<void> {
  if ((await namesIn(join(crawlerFolder, id))).length === 0) return;
  throw new BadInputError(
    `The folder crawler/${id} exists already and belongs to no domain. It may be all there is of what it holds: move it away, or choose another id.`,
  );
}

function trashFolder(folders: DomainFolders): string {
  return join(folders.domainsFolder, ".lockstep", "trash");
}

function trashNames(folders: DomainFolders): Promise<string[]> {
  return namesIn(trashFolder(folders));
}

function idOf(name: string): string {
  return name.slice(0, name.lastIndexOf("~"));
}
