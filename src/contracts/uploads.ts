import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "./ids.ts";

/** What an upload is to become. */
export interface UploadIntent {
  readonly itemId: ItemId;
  readonly name: string;
  readonly bytes: number;
}

/** One request to upload, from before it was sent until its file is attached or deleted. */
export interface UploadTry extends UploadIntent {
  readonly key: number;
  readonly startedAtMs: number;
  /** When it ended without an answer; undefined while nobody knows. */
  readonly lostAtMs: number | undefined;
  /** undefined: no answer was read, so the service may hold a file nobody knows the id of. */
  readonly fileId: FileId | undefined;
  /** Of what was sent; "" while there is no answer. */
  readonly sha256: string;
}

/**
 * Uploads under way of one source to one store. The service takes no key that would make an upload unrepeatable and
 * offers no mark on files, so what was sent is written down first: after a lost answer or a crash this is all that
 * tells our uploads from those of others. What was said survives a crash when the call returns.
 */
export interface UploadJournal {
  /** Returns its key. */
  begin(intent: UploadIntent): Promise<number>;
  /** With the hash of what was sent, which need not be what was intended. */
  answered(key: number, fileId: FileId, sha256: string): Promise<void>;
  lost(key: number): Promise<void>;
  /** Nothing is left to be done about it. */
  settle(key: number): Promise<void>;
  unsettled(): Promise<readonly UploadTry[]>;
}

export interface UploadPlace {
  readonly domainId: DomainId;
  readonly sourceId: SourceId;
  readonly storeId: VectorStoreId;
}

/** Of all domains. */
export interface UploadJournals {
  /** One writer at a time: whoever has the lease of the source. */
  open(place: UploadPlace): Promise<UploadJournal>;
  /** Ids of uploads that were under way within the last week, settled or not: of one domain, or of all. */
  files(domainId?: DomainId): Promise<readonly { readonly fileId: FileId; readonly startedAtMs: number }[]>;
}
