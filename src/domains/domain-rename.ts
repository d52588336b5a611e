import { rm } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, ConflictError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { moveIfThere, namesIn, pathExists } from "../lib/file-system.ts";
import { domainFile, domainNames, readDomainJson, refuseReservedId, withDomainLock } from "./domain-files.ts";
import { type DomainFolders, finishRemoval } from "./domain-trash.ts";

/** A rename of a domain, from before anything moves until everything has moved. */
export interface DomainRename {
  readonly from: DomainId;
  readonly to: DomainId;
}

/** No id holds a tilde, so the name of a note tells both ids back. */
const NOTE = /^([\w-]+)~([\w-]+)$/;

/** Renames that are under way, or that a crash interrupted. */
export async function unfinishedRenames(domainsFolder: string): Promise<DomainRename[]> {
  const names = await namesIn(notesFolder(domainsFolder));
  return names.flatMap((name) => {
    const [, from, to] = NOTE.exec(name) ?? [];
    return from && to ? [{ from: from as DomainId, to: to as DomainId }] : [];
  });
}

/** Throws while a rename from or to this id is unfinished: neither id may be reused, and neither domain deleted. */
export async function refuseWhileRenamed(domainsFolder: string, id: DomainId): Promise<void> {
  const isMeant = (name: string): boolean => name.toLowerCase() === id.toLowerCase();
  const found = (await unfinishedRenames(domainsFolder)).find(({ from, to }) => isMeant(from) || isMeant(to));
  if (!found) return;
  throw new ConflictError(
    `Domain '${found.from}' is being renamed to '${found.to}'. Try again when that is over; if it was interrupted, a crawl of '${found.to}' or a restart of the server completes it.`,
  );
}

/** Throws BadInputError or NotFoundError if the domain cannot be renamed. */
export async function checkRename(folders: DomainFolders, { from, to }: DomainRename): Promise<void> {
  const { domainsFolder, crawlerFolder } = folders;
  await readDomainJson(domainsFolder, from);
  refuseReservedId(to);
  if (from.toLowerCase() === to.toLowerCase()) {
    // On some disks both are the same folder, and afterwards nothing would show whether it has moved.
    const advice = from === to ? "" : " Rename it to something else first.";
    throw new BadInputError(`'${to}' differs from '${from}' in upper and lower case at most.${advice}`);
  }
  const taken = (await domainNames(domainsFolder)).find((name) => name.toLowerCase() === to.toLowerCase());
  if (taken) throw new BadInputError(`Domain '${taken}' already exists.`);
  if (await pathExists(join(crawlerFolder, to))) {
    throw new BadInputError(
      `The folder crawler/${to} exists already and belongs to no domain. It may be all there is of what it holds: move it away, or choose another id.`,
    );
  }
}

/** Writes a note before anything moves: from here on crawls of the domain wait. */
export async function beginRename(folders: DomainFolders, rename: DomainRename): Promise<void> {
  const { domainsFolder } = folders;
  await withBothLocks(domainsFolder, rename, async () => {
    await finishRemoval(folders, rename.to);
    await refuseWhileRenamed(domainsFolder, rename.from);
    await refuseWhileRenamed(domainsFolder, rename.to);
    await checkRename(folders, rename);
    await writeFileAtomic(noteOf(domainsFolder, rename), "");
  });
}

/**
 * Renames the domain's folder, which is the moment of the rename; then the mirror's. Repeatable: what has moved is left
 * alone, even if the old name exists again. ConflictError, with the remedy, if the domain has its new name and the
 * mirror cannot be moved.
 */
export async function moveDomain({ domainsFolder, crawlerFolder }: DomainFolders, rename: DomainRename): Promise<void> {
  await withBothLocks(domainsFolder, rename, async () => {
    if (!(await hasMoved(domainsFolder, rename))) await moveFolder(domainsFolder, rename);
    const note = noteOf(domainsFolder, rename);
    if ((await readFileIfExists(note))?.toString("utf8") === MIRROR_MOVED) return;
    await moveFolder(crawlerFolder, rename).catch((error: unknown) => {
      throw new ConflictError(sayStuck(rename), { cause: error });
    });
    await writeFileAtomic(note, MIRROR_MOVED);
  });
}

/** Content of the note once the mirror has moved. */
const MIRROR_MOVED = "mirror moved\n";

/** A missing folder has moved already, or there was none. */
function moveFolder(folder: string, { from, to }: DomainRename): Promise<void> {
  return moveIfThere(join(folder, from), join(folder, to));
}

function sayStuck({ from, to }: DomainRename): string {
  return `Domain '${from}' is called '${to}' already, but crawler/${from} cannot become crawler/${to}. If crawler/${to} exists, move it away, and close whatever has files of crawler/${from} open; then a crawl of '${to}' or a restart of the server completes the rename`;
}

/** false: the domain still has its old name, and nothing of it has moved. */
export async function hasMoved(domainsFolder: string, { from, to }: DomainRename): Promise<boolean> {
  return (await pathExists(domainFile(domainsFolder, to))) && !(await pathExists(domainFile(domainsFolder, from)));
}

/** Deletes the note, when everything has moved, or nothing. */
export async function endRename(domainsFolder: string, rename: DomainRename): Promise<void> {
  await rm(noteOf(domainsFolder, rename), { force: true });
}

/** Always in the same order, so that two renames never deadlock. */
function withBothLocks<T>(domainsFolder: string, { from, to }: DomainRename, work: () => Promise<T>): Promise<T> {
  const [first, second] = from < to ? [from, to] : [to, from];
  return withDomainLock(domainsFolder, first, () => withDomainLock(domainsFolder, second, work));
}

function notesFolder(domainsFolder: string): string {
  return join(domainsFolder, ".lockstep", "renames");
}

function noteOf(domainsFolder: string, { from, to }: DomainRename): string {
  return join(notesFolder(domainsFolder), `${from}~${to}`);
}
