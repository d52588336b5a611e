import {
  BadInputError,
  CancelledError,
  ConflictError,
  explain,
  NotFoundError,
  RemoteError,
} from "../contracts/errors.ts";
import { later } from "../lib/later.ts";
import type { Steps } from "./inventory.ts";

const openai = later<typeof import("openai")>("openai/index.mjs");

/** Words for the error of a call. */
export interface BackendCall {
  /** `verb object` */
  readonly what: string;
  /** The error if the backend answers 404. */
  readonly missing?: string;
}

/** Calls the backend. Refusals become errors for people, without keys. */
export async function callBackend<T>({ what, missing }: BackendCall, call: () => PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (missing !== undefined && isMissing(error)) throw new NotFoundError(missing);
    throw toReason(what, error);
  }
}

/** For deletions: an object that is already gone counts as deleted. */
export async function unlessMissing(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof NotFoundError || hasStatus(error, 404);
}

export function hasStatus(error: unknown, ...statuses: readonly number[]): boolean {
  const { APIError } = openai();
  return error instanceof APIError && error.status !== undefined && statuses.includes(error.status);
}

/** The message of fetch for every network error. */
const NO_CONNECTION = "fetch failed";

function toReason(what: string, error: unknown): unknown {
  const { APIConnectionError, APIError } = openai();
  if (error instanceof APIConnectionError) {
    // A backend in this process: its error is passed on as it is.
    if (error.cause instanceof Error && error.cause.message !== NO_CONNECTION) return error.cause;
    return new RemoteError(`Cannot ${what}: no answer from the backend (${withoutKeys(explain(error))})`);
  }
  if (!(error instanceof APIError) || error.status === undefined) return error;
  const said = withoutKeys(error.message.replace(/^\d{3} /, ""));
  switch (error.status) {
    // Without the backend's message, which tends to repeat the key.
    case 401:
      return new RemoteError(`Cannot ${what}: the backend refused the key (401). Check the API key of this server.`);
    case 404:
      // A model is a parameter, not an object that could be missing.
      if (error.code === "model_not_found") return new BadInputError(`The backend refused to ${what}: ${said}`);
      return new NotFoundError(`The backend refused to ${what}: ${said}`);
    case 409:
      return new ConflictError(`The backend refused to ${what}: ${said}`);
    // About this server's key or the backend's load: the client cannot mend it.
    case 403:
    case 408:
    case 429:
      return answered(what, error.status, said);
    default:
      if (error.status < 500) return new BadInputError(`The backend refused to ${what}: ${said}`);
      return answered(what, error.status, said);
  }
}

function answered(what: string, status: number, said: string): RemoteError {
  return new RemoteError(`Cannot ${what}: the backend answered ${status}: ${said}`);
}

function withoutKeys(text: string): string {
  const line = text.replaceAll(/\bsk-[\w*-]+/g, "***").replaceAll(/\s+/g, " ");
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

export interface ListCall<T> {
  /** `verb object`, for errors. */
  readonly what: string;
  readonly missing?: string;
  readonly read: (
    after: string | undefined,
  ) => PromiseLike<{ readonly data: readonly T[]; readonly has_more: boolean }>;
}

/** Follows the cursor page by page, as far as the caller reads. Ends normally only at the end of the list. */
export async function* readPages<T extends { readonly id: string }>(
  list: ListCall<T>,
): AsyncGenerator<readonly T[], void> {
  const cursors = new Set<string>();
  let after: string | undefined;
  for (;;) {
    const { data, has_more: more } = await readFrom(list, after);
    yield data;
    const last = data.at(-1)?.id;
    if (!more) return;
    // A server that ignores the cursor sends the same page for ever.
    if (last === undefined || cursors.has(last)) {
      throw new RemoteError(`Cannot ${list.what}: the backend repeats a page instead of going on.`);
    }
    cursors.add(last);
    after = last;
  }
}

async function readFrom<T>({ what, missing, read }: ListCall<T>, after: string | undefined) {
  return callBackend({ what, ...(missing !== undefined && after === undefined && { missing }) }, async () => {
    try {
      return await read(after);
    } catch (error) {
      if (after === undefined || !hasStatus(error, 400, 404)) throw error;
      throw new RemoteError(`Cannot ${what}: the list changed while it was read. Ask again.`);
    }
  });
}

/** A snapshot of a whole list, each id once. */
export async function readAll<T extends { readonly id: string }>(
  pages: AsyncIterable<readonly T[]>,
  signal?: AbortSignal,
): Promise<T[]> {
  const found = new Map<string, T>();
  for await (const page of pages) {
    signal?.throwIfAborted();
    for (const one of page) if (!found.has(one.id)) found.set(one.id, one);
  }
  return [...found.values()];
}

/** A file that could not be changed, as results show it. */
export interface FileFailure {
  readonly file_id: string;
  readonly filename: string;
  readonly error: string;
}

/** Runs one step of many. Returns the error, or "". A dry run only logs the step. */
export async function attempt(steps: Steps, label: string, work: () => Promise<void>): Promise<string> {
  await steps.checkpoint();
  steps.log(label);
  if (steps.dryRun) {
    steps.log("  Dry run: nothing was changed.");
    return "";
  }
  try {
    await work();
    steps.log("  OK.");
    return "";
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    steps.log(`  ERROR: ${explain(error)}`);
    return explain(error);
  }
}
