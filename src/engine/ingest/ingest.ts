import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Member } from "../../contracts/members.ts";
import type { IngestItem, IngestStatus, ItemPage, ItemQuery, RegistrySummary } from "../../contracts/registry.ts";
import type { StoredImage, WebImages } from "../../contracts/web.ts";

export { REGISTERED_SOURCE } from "../../contracts/domain.ts";

export interface AddRequest {
  readonly url: string;
  readonly title: string;
  /** undefined: the default domain, which is created on first use. */
  readonly domainId: DomainId | undefined;
  readonly force: boolean;
  readonly includeImages: boolean;
}

export interface AddFileRequest extends Pick<AddRequest, "domainId" | "force"> {
  /** An absolute path or `file:` address on this machine, or the address of a blob. */
  readonly source: string;
}

/** What a request came to. */
export interface Registered {
  readonly id: ItemId;
  /** Under what the address is known, for programs and for people. */
  readonly normalizedSource: string;
  readonly displaySource: string;
  readonly domainId: DomainId;
  readonly status: IngestStatus;
  readonly nextCrawlAt: string;
  readonly reindexGeneration: number;
  /** It was not in the registry before. */
  readonly isNew: boolean;
  /** What whoever asked should know, "" for nothing. */
  readonly note: string;
}

export interface RebuildRequest {
  readonly domainId: DomainId | undefined;
  /** Bypasses what is known of every item. */
  readonly force: boolean;
}

export interface ItemView {
  readonly item: IngestItem;
  readonly members: readonly Member[];
  readonly images: readonly StoredImage[];
}

/** A source of a domain whose index is behind its registry. */
export interface Behind {
  readonly domainId: DomainId;
  readonly sourceId: SourceId;
  readonly items: number;
  /** The same for the same items. */
  readonly which: string;
}

export type WantedItem = { readonly id: ItemId } | { readonly source: string; readonly domainId?: DomainId };

/** The registry as a product: what CLI, HTTP and pages call. */
export interface Ingest {
  /** BadInputError for what is no address that may be asked; nothing is fetched here. */
  add(request: AddRequest, options?: { readonly dryRun: boolean }): Promise<Registered>;
  /** A file or a blob. BadInputError for what must not be read; nothing is read here. */
  addFile(request: AddFileRequest, options?: { readonly dryRun: boolean }): Promise<Registered>;
  /** By id, or by address and domain (otherwise the usual one). NotFoundError when it is not registered. */
  reindex(wanted: WantedItem, options?: { readonly dryRun: boolean }): Promise<Registered>;
  /** Inside a job: every item of the domain is due at once, and queued. */
  rebuild(request: RebuildRequest, job: JobContext): Promise<{ readonly domainId: DomainId; readonly queued: number }>;
  /** Takes it out of the domain; its record stays while another domain has it. */
  remove(id: ItemId, domainId: DomainId, options?: { readonly dryRun: boolean }): Promise<void>;
  /**
   * Under which an address, or the path of a file, is known in a domain (otherwise the usual one), or would be. BadInputError
   * for what is none.
   */
  idOf(source: string, domainId?: DomainId): Promise<ItemId>;
  items(query: Omit<ItemQuery, "among"> & { readonly domainId?: DomainId | undefined }): Promise<ItemPage>;
  /** NotFoundError. */
  item(id: ItemId): Promise<ItemView>;
  images: Pick<WebImages, "of" | "read">;
  summary(domainId?: DomainId): Promise<RegistrySummary>;
  /** The timer's work: queues what is due, purges what is gone long enough. Returns how many were queued; RemoteError, when all is done, for what could not be deleted. */
  sweep(signal: AbortSignal): Promise<number>;
  /** Takes one queued item and looks at it. false: there was none, or none whose host has room. Throws what is not the item's fault. Never two at once at the same item, whoever asks. */
  workOne(worker: string, signal: AbortSignal): Promise<boolean>;
  /** Sources whose index does not have what the registry says. */
  behind(): Promise<readonly Behind[]>;
}
