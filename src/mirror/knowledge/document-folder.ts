import { mkdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readFileIfExists } from "../../lib/atomic-file.ts";
import { moveIfThere } from "../../lib/move-if-there.ts";
import { pathExists } from "../../lib/path-exists.ts";
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

export async function readMetadata(folder: string): Promise<KeptDocument | undefined> {
  const bytes = await readFileIfExists(join(folder, METADATA_FILE));
  return bytes && decodeMetadata(bytes.toString("utf8"));
}

/**
 * What is incoming becomes current; what was current becomes its latest earlier version, by moving. A folder cannot be renamed
 * over another, so there is a moment without the document in its place: readers look into the other places, too.
 */
export async function exchange(places: Places): Promise<void> {
  await moveIfThere(places.current, places.outgoing);
  await finishExchange(places);
}

/** After a crash: an exchange that began is finished, and one that did not is forgotten. */
export async function settle(places: Places): Promise<void> {
  const { current, incoming, outgoing } = places;
  if (!(await pathExists(current))) {
    if (await readMetadata(incoming)) return await finishExchange(places);
    // Only a damaged disk leads here with something outgoing.
    await moveIfThere(join(incoming, VERSIONS_FOLDER), join(outgoing, VERSIONS_FOLDER));
    await moveIfThere(outgoing, current);
  }
  await discard(incoming);
  await discard(outgoing);
}

/** Each move may have been made before. */
async function finishExchange({ current, incoming, outgoing }: Places): Promise<void> {
  const versions = join(incoming, VERSIONS_FOLDER);
  await moveIfThere(join(outgoing, VERSIONS_FOLDER), versions);
  const before = await readMetadata(outgoing);
  const next = await readMetadata(incoming);
  // The same version made anew takes its place; one without a text is not worth keeping.
  if (before && before.error === "" && before.versionId !== next?.versionId) {
    await mkdir(versions, { recursive: true });
    await rename(outgoing, join(versions, before.versionId));
  }
  await mkdir(dirname(current), { recursive: true });
  await rename(incoming, current);
  await discard(outgoing);
}

/** Out of sight in one move first: a folder half removed is never read. `waiting` is a name in `.staging`. */
export async function removeWhole(folder: string, waiting: string): Promise<void> {
  await mkdir(dirname(waiting), { recursive: true });
  await moveIfThere(folder, waiting);
  await discard(waiting);
}

export async function discard(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}
