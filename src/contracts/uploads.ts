import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "./ids.ts";

/** The file that is to be uploaded. */
export interface UploadIntent {
  readonly itemId: ItemId;
  readonly name: string;
  readonly bytes: number;
}

/** One upload request, from before it was sent until its file is attached or deleted. */
export interface UploadTry extends UploadIntent {
  readonly key: number;
  readonly startedAtMs: number;
  /** When it failed without a response; undefined: not known to have failed. */
  readonly lostAtMs: number | undefined;
  /** undefined: no response was read, so the service may have a file whose id is unknown. */
  readonly fileId: FileId | undefined;
  /** Hash of the sent bytes; "" before the response. */
  readonly sha256: string;
}

/**
 * Journal of the uploads of one source to one store. The service supports neither idempotency keys nor marks on files,
 * so each upload is recorded before it is sent: after a lost response or a crash, only this tells our uploads from
 * those of others. A call is durable when it returns.
 */
export interface UploadJournal {
  /** Returns the key of the upload. */
  begin(intent: UploadIntent): Promise<number>;
  /** `sha256` is the hash of the sent bytes, which may differ from the intended ones. */
  answered(key: number, fileId: FileId, sha256: string): Promise<void>;
  lost(key: number): Promise<void>;
  /** Closes the upload: nothing is left to do. */
  settle(key: number): Promise<void>;
  unsettled(): Promise<readonly UploadTry[]>;
}

export interface UploadPlace {
  readonly domainId: DomainId;
  readonly sourceId: SourceId;
  readonly storeId: VectorStoreId;
}

/** The journals of all domains. */
export interface UploadJournals {
  /** One writer at a time: the holder of the source's lease. */
  open(place: UploadPlace): Promise<UploadJournal>;
  /** File ids of uploads of the last week, settled or not, of one domain or of all. */
  files(domainId?: DomainId): Promise<readonly { readonly fileId: FileId; readonly startedAtMs: number }[]>;
}
