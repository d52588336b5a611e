import type OpenAI from "openai";
import type { Principal } from "../contracts/access.ts";
import type { JobContext, Result } from "../contracts/job.ts";
import type { LoggedResponse } from "./response-log.ts";

export interface ReplicateRequest {
  readonly sources: readonly string[];
  readonly targets: readonly string[];
  /** Removes files of a target that no source has, if everything else succeeded. */
  readonly removeOthers: boolean;
}

/** Order by creation time, and the size of a page. */
export interface PageQuery {
  readonly order: "asc" | "desc";
  readonly pageSize: number;
}

export type FileObject = OpenAI.FileObject;
export type VectorStore = OpenAI.VectorStore;
/** With the name of the file, which the wire keeps elsewhere; "" when the file itself is gone. */
export type StoreFile = OpenAI.VectorStores.VectorStoreFile & { readonly filename: string };
export type Assistant = OpenAI.Beta.Assistant;
export type ModelResponse = OpenAI.Responses.Response;

/** The part of a job that a longer change uses; a request without a job has one too. */
export type Steps = Omit<JobContext, "jobId">;

/** Pages as the backend sends them, as far as the caller reads. */
export type Pages<T> = AsyncIterable<readonly T[]>;

/**
 * The objects of the backend, read and changed over the wire protocol, as the wire has them. An unknown id is a NotFoundError
 * that names it, a refusal of the backend a BadInputError, any other failure a RemoteError.
 */
export interface Inventory {
  readonly files: Files;
  readonly stores: VectorStores;
  readonly storeFiles: StoreFiles;
  readonly assistants: Assistants;
  readonly responses: Responses;
}

export interface Files {
  pages(query: PageQuery): Pages<FileObject>;
  get(id: string): Promise<FileObject>;
  /** From the backend as a whole, so out of every vector store too. */
  delete(id: string): Promise<void>;
}

export interface VectorStores {
  pages(query: PageQuery): Pages<VectorStore>;
  get(id: string): Promise<VectorStore>;
  create(wanted: OpenAI.VectorStoreCreateParams): Promise<VectorStore>;
  update(id: string, changes: OpenAI.VectorStoreUpdateParams): Promise<VectorStore>;
  /** With its files: deletes them first, so that a crash leaves something that can be deleted again. A failure keeps the store. */
  delete(store: VectorStore, mode: DeleteMode, steps: Steps): Promise<Result>;
  /** Lets every target hold the files of all sources. Unknown ids are refused before anything changes. */
  checkReplicate(request: ReplicateRequest): Promise<void>;
  replicate(request: ReplicateRequest, steps: Steps): Promise<Result>;
}

export type DeleteMode = "default" | "with_files";

export interface StoreFiles {
  /** Names are looked up page by page. */
  pages(storeId: string, query: PageQuery): Pages<StoreFile>;
  get(storeId: string, fileId: string): Promise<StoreFile>;
  /** Out of the store; the file itself stays. */
  detach(storeId: string, fileId: string): Promise<void>;
}

export interface Assistants {
  /** NotFoundError with RETIRED where the backend has no assistants any more. */
  pages(query: PageQuery): Pages<Assistant>;
  get(id: string): Promise<Assistant>;
  create(wanted: OpenAI.Beta.AssistantCreateParams): Promise<Assistant>;
  update(id: string, changes: OpenAI.Beta.AssistantUpdateParams): Promise<Assistant>;
  delete(assistant: Assistant, mode: DeleteMode, steps: Steps): Promise<Result>;
}

/** A principal's own responses; administrators see all. */
export interface Responses {
  /** The ones created here, newest first: the wire protocol has no list of them. */
  list(by: Principal): Promise<readonly Omit<LoggedResponse, "owner" | "kind">[]>;
  get(id: string, by: Principal): Promise<ModelResponse>;
  create(wanted: OpenAI.Responses.ResponseCreateParamsNonStreaming, by: Principal): Promise<ModelResponse>;
  /** Deletes the conversation first, if it has one and `mode` says so. */
  delete(response: ModelResponse, mode: "default" | "with_conversation", by: Principal): Promise<void>;
}
