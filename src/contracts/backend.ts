import type { Principal } from "./access.ts";
import type { DomainId, FileId, VectorStoreId } from "./ids.ts";
import type { Index } from "./search-index.ts";

/** Documents of one domain become another's: a domain has a new id. */
export interface OwnerChange {
  readonly from: DomainId;
  readonly to: DomainId;
  /** Where their bytes were and are, absolute. */
  readonly folders: { readonly from: string; readonly to: string };
}

export interface Watch {
  readonly signal: AbortSignal;
  /** A sentence now and then, where it takes long. */
  report(line: string): void;
}

/** Where vector stores live: the embedded index, OpenAI, or Azure OpenAI. */
export interface Backend {
  /** Extensions without dot that it can take in. */
  readonly acceptedTypes: ReadonlySet<string>;
  /** How a crawl becomes visible in its stores. */
  readonly commits: Index["commits"];
  createVectorStore(name: string): Promise<VectorStoreId>;
  /** With everything in it, except uploaded files, which other stores may hold. One that is gone already is fine. */
  deleteVectorStore(store: VectorStoreId): Promise<void>;
  /**
   * undefined: the store does not exist (any more). Any other trouble throws. Searching needs no domain; drafts and
   * holdings do, because a store may hold documents of others. A remote service is waited for as long as it asks when
   * there is a signal to end that, otherwise for some seconds: somebody waits for the answer.
   */
  openIndex(store: VectorStoreId, domain: DomainId | undefined, signal?: AbortSignal): Promise<Index | undefined>;
  /**
   * Whatever in the store carries the marks of one domain carries those of the other afterwards, in all kept generations.
   * File ids stay, nothing is embedded. May be interrupted and repeated. A store that does not exist has nothing to mark.
   */
  changeOwner(store: VectorStoreId, change: OwnerChange, watch: Watch): Promise<void>;
  /**
   * Where crawled files are uploaded, and detached when they are removed: deletes the uploads of ours that no vector store of
   * the account holds. Others' are never touched; where nobody can tell, they are left and counted.
   */
  sweepUploads?(sweep: UploadSweep): Promise<SweptUploads>;
  /** Likewise, before the ledger of a domain goes: what was uploaded for it can still be swept. */
  forgetDomain?(domainId: DomainId): Promise<void>;
  close(): Promise<void>;
}

export interface UploadSweep extends Watch {
  readonly dryRun: boolean;
  /** Called before each removal; what it throws ends the sweep. */
  readonly checkpoint?: () => Promise<void>;
  /** Those that somebody knows of: where the service does not list one of them, its lists are not worth going by. */
  readonly stores: readonly VectorStoreId[];
}

export interface SweptUploads {
  readonly removed: readonly { readonly fileId: FileId; readonly bytes: number }[];
  /** How many uploads of the account are in no vector store, and nobody can tell whose they are. */
  readonly unknown: number;
}

/** The wire protocol of OpenAI: a request in, a response out, whoever carries them. */
export type Wire = (request: Request, call?: WireCall) => Promise<Response>;

export interface WireCall {
  /** Hears what went wrong here, or on the way: of that the response says only what is meant for clients. */
  readonly tell?: ((failure: unknown) => void) | undefined;
  /** Who asks: answers and conversations of others are not there for them. undefined: the product itself. */
  readonly by?: Principal | undefined;
}

/** Who searches, and until when they want to know. */
export interface Asking {
  /** undefined: the product itself, or the person at the command line. */
  readonly principal?: Principal | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A few at once for each key, and for all who need none together: nobody's questions take the whole machine. */
export type Searching = <T>(asking: Asking, work: () => Promise<T>) => Promise<T>;
