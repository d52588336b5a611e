import { lstatSync, mkdirSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readSmallFile } from "../../lib/atomic-file.ts";
import { inFolder } from "../write-body.ts";
import type { KeptDocument } from "./kept-document.ts";
import { decodeMetadata } from "./metadata-codec.ts";

export const CONTENT_FILE = "content.md";
export const METADATA_FILE = "metadata.json";
export const VERSIONS_FOLDER = "versions";

/** Where a document may be found. Usually in its place alone; while a version is being exchanged also on its way in and out. */
export interface Places {
  /** `knowledge_base/documents/{doc_id}` */
  readonly current: string;
  /** `.staging/{doc_id}`: what is to become current. Complete when it has its metadata, which are written last. */
  readonly incoming: string;
  /** `.staging/{doc_id}.old`: what was current. There only when what comes is complete. */
  readonly outgoing: string;
}

/** Throws when the disk cannot tell. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

export function readMetadata(folder: string): KeptDocument | undefined {
  const bytes = readSmallFile(join(folder, METADATA_FILE));
  return bytes && decodeMetadata(bytes.toString("utf8"));
}

/**
 * What is incoming becomes current; what was current becomes its latest earlier version, by moving. A folder cannot be renamed
 * over another, so there is a moment without the document in its place: readers of other processes look into the other places, too.
 */
export async function exchange(places: Places): Promise<void> {
  moveIfThere(places.current, places.outgoing);
  finishExchange(places);
  await discard(places.outgoing);
}

/** After a crash: an exchange that began is finished, and one that did not is forgotten. */
export async function settle(places: Places): Promise<void> {
  const { current, incoming, outgoing } = places;
  if (!isThere(current)) {
    if (readMetadata(incoming)) {
      finishExchange(places);
    } else {
      // Only a damaged disk leads here with something outgoing.
      moveIfThere(join(incoming, VERSIONS_FOLDER), join(outgoing, VERSIONS_FOLDER));
      moveIfThere(outgoing, current);
    }
  }
  await discard(incoming);
  await discard(outgoing);
}

/** Each move may have been made before. */
function finishExchange(places: Places): void {
  const { incoming, outgoing } = places;
  const versions = join(incoming, VERSIONS_FOLDER);
  moveIfThere(join(outgoing, VERSIONS_FOLDER), versions);
  const before = isThere(outgoing) ? readMetadata(outgoing) : undefined;
  // The same version made anew takes its place; one without a text is not worth keeping.
  if (before && before.error === "" && before.versionId !== readMetadata(incoming)?.versionId) {
    mkdirSync(versions, { recursive: true });
    renameSync(outgoing, join(versions, before.versionId));
  }
  takePlace(places);
}

/** Where nothing was current, this is all of an exchange. */
export function takePlace({ current, incoming }: Pick<Places, "current" | "incoming">): void {
  inFolder(dirname(current), () => renameSync(incoming, current));
}

function moveIfThere(from: string, to: string): void {
  if (isThere(from)) renameSync(from, to);
}

/** Out of sight in one move first: a folder half removed is never read. `waiting` is a name in `.staging`. */
export async function removeWhole(folder: string, waiting: string): Promise<void> {
  mkdirSync(dirname(waiting), { recursive: true });
  moveIfThere(folder, waiting);
  await discard(waiting);
}

export async function discard(folder: string): Promise<void> {
  if (isThere(folder)) await rm(folder, { recursive: true, force: true });
}
