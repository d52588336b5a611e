import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Member } from "../../contracts/members.ts";
import type { IngestItem, IngestStatus, ItemPage, ItemQuery } from "../../contracts/registry.ts";
import type { StoredImage, WebImages } from "../../contracts/web.ts";
import type { ShownSummary } from "./shown-items.ts";

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
  /** An absolute path or `file:` URL on this machine, or the URL of a blob. */
  readonly source: string;
}

/** The result of a registration. */
export interface Registered {
  readonly id: ItemId;
  /** The address as it is stored, and as it is shown to users. */
  readonly normalizedSource: string;
  readonly displaySource: string;
  readonly domainId: DomainId;
  readonly status: IngestStatus;
  readonly nextCrawlAt: string;
  readonly reindexGeneration: number;
  readonly isNew: boolean;
  /** A note for the caller, or "". */
  readonly note: string;
}

export interface RebuildRequest {
  readonly domainId: DomainId | undefined;
  /** Fetches every item without conditional requests. */
  readonly force: boolean;
}

export interface ItemView {
  readonly item: IngestItem;
  readonly members: readonly Member[];
  readonly images: readonly StoredImage[];
}

/** A source whose index lacks changes that the registry has. */
export interface Behind {
  readonly domainId: DomainId;
  readonly sourceId: SourceId;
  readonly items: number;
  /** A checksum of the items: the same set gives the same value. */
  readonly which: string;
}

export type WantedItem = { readonly id: ItemId } | { readonly source: string; readonly domainId?: DomainId };

/** The operations of the registry for CLI, HTTP and pages. Items have the status that readers see; see shown-items.ts. */
export interface Ingest {
  /** Registers a URL; fetches nothing. BadInputError for an invalid or forbidden one. */
  add(request: AddRequest, options?: { readonly dryRun: boolean }): Promise<Registered>;
  /** Registers a file or blob; reads nothing. BadInputError for one that must not be read. */
  addFile(request: AddFileRequest, options?: { readonly dryRun: boolean }): Promise<Registered>;
  /** By id, or by address and domain (or the default one). NotFoundError if it is not registered. */
  reindex(wanted: WantedItem, options?: { readonly dryRun: boolean }): Promise<Registered>;
  /** Makes every item of the domain due and queues it. Runs inside a job. */
  rebuild(request: RebuildRequest, job: JobContext): Promise<{ readonly domainId: DomainId; readonly queued: number }>;
  /** Removes the item from the domain; its record stays while another domain has it. */
  remove(id: ItemId, domainId: DomainId, options?: { readonly dryRun: boolean }): Promise<void>;
  /**
   * Returns the id that an address or file path has, or would have, in a domain (or the default one). BadInputError if
   * it is neither.
   */
  idOf(source: string, domainId?: DomainId): Promise<ItemId>;
  items(query: Omit<ItemQuery, "among"> & { readonly domainId?: DomainId | undefined }): Promise<ItemPage>;
  /** Throws NotFoundError. */
  item(id: ItemId): Promise<ItemView>;
  images: Pick<WebImages, "of" | "read">;
  /** Includes the domains whose readers see an earlier generation than the newest. */
  summary(domainId?: DomainId): Promise<ShownSummary>;
  /**
   * Called by the timer: queues what is due and purges what has been gone long enough. Returns how many were queued. At
   * the end, throws RemoteError if something could not be deleted.
   */
  sweep(signal: AbortSignal): Promise<number>;
  /**
   * Claims one queued item and fetches it. false: none was queued, or none whose host has a free slot. Throws errors
   * that are not the item's fault. The same item is never fetched twice at once, in any process.
   */
  workOne(worker: string, signal: AbortSignal): Promise<boolean>;
  /** Sources whose index lacks changes that the registry has. */
  behind(): Promise<readonly Behind[]>;
}
