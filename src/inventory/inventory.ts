import type OpenAI from "openai";
import type { Principal } from "../contracts/access.ts";
import type { JobContext, Result } from "../contracts/job.ts";
import type { PageQuery } from "./backend-calls.ts";
import type { ReplicateRequest } from "./replicate.ts";
import type { LoggedResponse } from "./response-log.ts";

export type FileObject = OpenAI.FileObject;
export type VectorStore = OpenAI.VectorStore;
/** With the name of the file, which the wire keeps elsewhere; "" when the file itself is gone. */
export type StoreFile = OpenAI.VectorStores.VectorStoreFile & { readonly filename: string };
export type Assistant = OpenAI.Beta.Assistant;
export type ModelResponse = OpenAI.Responses.Response;

/** What a longer change sees of the job it runs in, or of the request that waits for it. */
export type Steps = Omit<JobContext, "jobId">;

/** Pages as the backend sends them, as far as somebody reads. */
export type Pages<T> = AsyncIterable<readonly T[]>;

/**
 * What the backend holds, whoever put it there: read and changed over the wire protocol. Objects are as the wire has them. An unknown id is
 * a NotFoundError that names it, a refusal of the backend a BadInputError, anything else between here and there a RemoteError.
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
  /** With its files: those first, so that what a crash leaves can be deleted again. One that fails keeps the store. */
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

/** One's own; for administrators all. Those of others do not exist. */
export interface Responses {
  /** The ones created here, newest first: the wire protocol has no list of them. */
  list(by: Principal): Promise<readonly Omit<LoggedResponse, "owner" | "kind">[]>;
  get(id: string, by: Principal): Promise<ModelResponse>;
  create(wanted: OpenAI.Responses.ResponseCreateParamsNonStreaming, by: Principal): Promise<ModelResponse>;
  /** The conversation first, where there is one and it is to go too. */
  delete(response: ModelResponse, mode: "default" | "with_conversation", by: Principal): Promise<void>;
}
