import { RemoteError } from "../../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../../contracts/ids.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { compareText } from "../../lib/text.ts";
import type { Connection } from "./connection.ts";
import { ServiceError } from "./service-error.ts";
import { listStoreFiles, type Store } from "./store-files.ts";
import { findUpload, listUploads } from "./uploads.ts";
import { isOfDomain, readItemId, readSourceId, type StoreFile } from "./wire-codec.ts";

/** What a store holds of one item. */
interface ItemFiles {
  /** The newest completed file: the item's document. */
  current: StoreFile | undefined;
  /** Older, failed or unfinished files that a crash left between attaching and detaching. */
  readonly strays: StoreFile[];
  /** Rows whose upload is gone. A search may still find them, so they are detached when the item is replaced. */
  readonly ghosts: StoreFile[];
}

/** Snapshot of a whole store, with the files of one source grouped by item. */
export interface StoreSnapshot {
  readonly items: ReadonlyMap<ItemId, ItemFiles>;
  readonly files: ReadonlyMap<FileId, StoreFile>;
  /** Files of other sources of the same domain that a search can find. */
  readonly elsewhere: number;
  /** Sources of the domain with searchable files. */
  readonly sources: ReadonlySet<SourceId>;
}

/** Lists the whole store. Throws rather than miss a page. */
export async function snapshotStore(store: Store, domainId: DomainId, sourceId: SourceId): Promise<StoreSnapshot> {
  const files = await listStoreFiles(store);
  const ours = files.flatMap((file) => {
    const itemId = readItemId(file, domainId, sourceId);
    return itemId === undefined ? [] : [{ itemId, file }];
  });
  const ghosts = await findGhosts(
    store.connection,
    ours.map(({ file }) => file.fileId),
  );
  const items = new Map<ItemId, ItemFiles>();
  // The order of the list decides only between files that were attached within the same second.
  for (const { itemId, file } of ours.toSorted((a, b) => compareText(b.file.attachedAt, a.file.attachedAt))) {
    const ofItem: ItemFiles = items.get(itemId) ?? { current: undefined, strays: [], ghosts: [] };
    items.set(itemId, ofItem);
    if (ghosts.has(file.fileId)) ofItem.ghosts.push(file);
    else if (!ofItem.current && file.status === "completed") ofItem.current = file;
    else ofItem.strays.push(file);
  }
  const ofDomain = files.filter((file) => file.status === "completed" && isOfDomain(file, domainId));
  const ofSource = ours.filter(({ file }) => file.status === "completed").length;
  const sources = new Set(ofDomain.flatMap(readSourceId));
  const elsewhere = ofDomain.length - ofSource;
  return { items, files: new Map(files.map((file) => [file.fileId, file])), elsewhere, sources };
}

const AT_ONCE = 4;

/**
 * Returns the attached files whose upload is gone, as when somebody deleted files and the service left their rows. Files
 * missing from the list of uploads are looked up by id; a list that misses an existing file is not trusted. If uploads cannot
 * be listed, none is reported.
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
      error instanceof RemoteError && !(error instanceof ServiceError && error.isFatal && error.status !== 403);
    if (passes) return undefined;
    throw error;
  }
}
