import type { Principal } from "./access.ts";
import type { DomainId, FileId, VectorStoreId } from "./ids.ts";
import type { Index } from "./search-index.ts";

/** The documents of a domain get another owner: the domain was renamed. */
export interface OwnerChange {
  readonly from: DomainId;
  readonly to: DomainId;
  /** The mirror folder before and after, absolute. */
  readonly folders: { readonly from: string; readonly to: string };
}

/** Recognises texts that quote documents. */
export interface Quotes {
  isIn(text: string): boolean;
}

export interface Watch {
  readonly signal: AbortSignal;
  /** Gets progress messages of long work. */
  report(line: string): void;
}

/** Where vector stores live: the embedded index, OpenAI, or Azure OpenAI. */
export interface Backend {
  /** Extensions without dot that it can index. */
  readonly acceptedTypes: ReadonlySet<string>;
  /** How a crawl becomes visible in its stores. */
  readonly commits: Index["commits"];
  createVectorStore(name: string): Promise<VectorStoreId>;
  /** Deletes the store, but no uploaded files: other stores may hold them. A store that is gone already is no error. */
  deleteVectorStore(store: VectorStoreId): Promise<void>;
  /**
   * Returns undefined if the store does not exist; throws on any other problem. Searching needs no domain; drafts and
   * holdings do, because a store may hold documents of others. With a signal, waits for a remote service as long as it
   * asks; without, for some seconds, because a user waits.
   */
  openIndex(store: VectorStoreId, domain: DomainId | undefined, signal?: AbortSignal): Promise<Index | undefined>;
  /**
   * Marks the documents of one domain as those of the other, in all kept generations. File ids stay, nothing is
   * embedded. Can be interrupted and repeated. Does nothing for a store that does not exist.
   */
  changeOwner(store: VectorStoreId, change: OwnerChange, watch: Watch): Promise<void>;
  /**
   * Present if crawled files are uploaded, and only detached when they are removed: deletes our uploads that are in no
   * vector store of the account. Never deletes uploads of others; uploads of unknown origin are left and counted.
   */
  sweepUploads?(sweep: UploadSweep): Promise<SweptUploads>;
  /** Present likewise: deletes uploads from these stores and for good. Uploads that are gone already are no error. */
  eraseUploads?(files: readonly FileId[], stores: readonly VectorStoreId[], signal: AbortSignal): Promise<void>;
  /** Present likewise. Called before the ledger of a domain is deleted, so that its uploads can still be swept. */
  forgetDomain?(domainId: DomainId): Promise<void>;
  /** Present if it stores answers and attached files itself. */
  readonly storage?: {
    /** Deletes stored responses, and turns of conversations, that quote documents; returns how many rows. A dry run only counts. */
    eraseAnswers(quotes: Quotes, options: { readonly dryRun: boolean }): Promise<number>;
    /** Deletes a file that was attached over the wire, from every store. */
    eraseFile(fileId: FileId): Promise<void>;
  };
  close(): Promise<void>;
}

export interface UploadSweep extends Watch {
  readonly dryRun?: boolean;
  /** Called before each removal; what it throws ends the sweep. */
  readonly checkpoint?: () => Promise<void>;
  /** Stores known to us: if the service does not list one of them, its lists are incomplete and nothing is deleted. */
  readonly stores: readonly VectorStoreId[];
}

export interface SweptUploads {
  readonly removed: readonly { readonly fileId: FileId; readonly bytes: number }[];
  /** Uploads of the account that are in no vector store and of unknown origin. */
  readonly unknown: number;
}

/** A handler of the OpenAI protocol. */
export type Wire = (request: Request, call?: WireCall) => Promise<Response>;

export interface WireCall {
  /** Called with internal errors; the response has only what clients may see. */
  readonly tell?: ((failure: unknown) => void) | undefined;
  /** The caller; stored responses and conversations of others are 404. undefined: an internal call. */
  readonly by?: Principal | undefined;
  /** Where the caller reaches this server: addresses of documents begin so. "" or undefined for an internal call. */
  readonly origin?: string | undefined;
}

/** The caller of a search, and its cancellation. */
export interface Asking {
  /** undefined: an internal call, or the command line. */
  readonly principal?: Principal | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Limits concurrent searches per key; all callers without a key share one limit. */
export type Searching = <T>(asking: Asking, work: () => Promise<T>) => Promise<T>;
