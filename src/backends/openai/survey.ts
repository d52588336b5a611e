import { RemoteError } from "../../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../../contracts/ids.ts";
import { compareText } from "../../lib/compare-text.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import type { Connection } from "./connection.ts";
import { Refusal } from "./refusal.ts";
import { listStoreFiles, type Store } from "./store-files.ts";
import { findUpload, listUploads } from "./uploads.ts";
import { isOfDomain, readItemId, readSourceId, type StoreFile } from "./wire-codec.ts";

/** What a store holds of one item. */
interface Held {
  /** The newest completed file: what counts as the item's document. */
  current: StoreFile | undefined;
  /** Older, failed or unfinished ones that a crash left between adding and detaching. */
  readonly strays: StoreFile[];
  /** Rows whose upload is gone. A search may still find them, so they go when something else comes. */
  readonly ghosts: StoreFile[];
}

/** A snapshot of a whole store, with what carries the marks of one source sorted out. */
export interface Survey {
  readonly items: ReadonlyMap<ItemId, Held>;
  readonly files: ReadonlyMap<FileId, StoreFile>;
  /** Files of other sources of the same domain that a search can find. */
  readonly elsewhere: number;
  /** All sources of the domain of which a search can find something. */
  readonly sources: ReadonlySet<SourceId>;
}

/** Throws rather than miss a page. */
export async function surveySource(store: Store, domainId: DomainId, sourceId: SourceId): Promise<Survey> {
  const files = await listStoreFiles(store);
  const ours = files.flatMap((file) => {
    const itemId = readItemId(file, domainId, sourceId);
    return itemId === undefined ? [] : [{ itemId, file }];
  });
  const ghosts = await findGhosts(
    store.connection,
    ours.map(({ file }) => file.fileId),
  );
  const items = new Map<ItemId, Held>();
  // The order of the list decides only between files that were attached within the same second.
  for (const { itemId, file } of ours.toSorted((a, b) => compareText(b.file.attachedAt, a.file.attachedAt))) {
    const held: Held = items.get(itemId) ?? { current: undefined, strays: [], ghosts: [] };
    items.set(itemId, held);
    if (ghosts.has(file.fileId)) held.ghosts.push(file);
    else if (!held.current && file.status === "completed") held.current = file;
    else held.strays.push(file);
  }
  const ofDomain = files.filter((file) => file.status === "completed" && isOfDomain(file, domainId));
  const ofSource = ours.filter(({ file }) => file.status === "completed").length;
  const sources = new Set(ofDomain.flatMap(readSourceId));
  const elsewhere = ofDomain.length - ofSource;
  return { items, files: new Map(files.map((file) => [file.fileId, file])), elsewhere, sources };
}

const AT_ONCE = 4;

/**
 * Which of the attached files have lost their upload, as when somebody deletes files and the service leaves their rows.
 * The list of uploads only points to them: each is asked for by id, and a list that lacks one that exists is not worth
 * going by. Where uploads cannot be listed, nothing is said to be lost.
 */
async function findGhosts(connection: Connection, attached: readonly FileId[]): Promise<ReadonlySet<FileId>> {
  const ghosts = new Set<FileId>();
  if (attached.length === 0) return ghosts;
  const listed = await listOrNothing(connection);
  let isListSound = listed !== undefined;
  const unlisted = attached.filter((fileId) => !listed?.has(fileId));
  await forEachConcurrent(unlisted, AT_ONCE, async (fileId) => {
    if (!isListSound) return;
    if (await findUpload(connection, fileId)) isListSound = false;
    else ghosts.add(fileId);
  });
  return ghosts;
}

async function listOrNothing(connection: Connection): Promise<ReadonlySet<FileId> | undefined> {
  try {
    return new Set((await listUploads(connection)).map(({ fileId }) => fileId));
  } catch (error) {
    const passes =
      error instanceof RemoteError && !(error instanceof Refusal && error.concernsAll && error.status !== 403);
    if (passes) return undefined;
    throw error;
  }
}
