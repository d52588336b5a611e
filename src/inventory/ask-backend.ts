import { BadInputError, ConflictError, explain, NotFoundError, RemoteError } from "../contracts/errors.ts";
import { later } from "../lib/later.ts";

const openai = later<typeof import("openai")>("openai/index.mjs");

/** What a call is about, for the sentence that says why it failed. */
export interface Asking {
  /** `verb object` */
  readonly what: string;
  /** Said when the backend does not know what was asked for. */
  readonly missing?: string;
}

/** Calls the backend; what it refuses becomes an error for people, without anything that could be a key. */
export async function askBackend<T>({ what, missing }: Asking, call: () => PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (missing !== undefined && isMissing(error)) throw new NotFoundError(missing);
    throw toReason(what, error);
  }
}

/** For deletions: one that is gone already was what everybody wanted. */
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

/** What fetch says of every trouble with the network. */
const NO_CONNECTION = "fetch failed";

function toReason(what: string, error: unknown): unknown {
  const { APIConnectionError, APIError } = openai();
  if (error instanceof APIConnectionError) {
    // A backend in this process: what it failed with comes through as it is, and is told like every failure of ours.
    if (error.cause instanceof Error && error.cause.message !== NO_CONNECTION) return error.cause;
    return new RemoteError(`Cannot ${what}: no answer from the backend (${withoutKeys(explain(error))})`);
  }
  if (!(error instanceof APIError) || error.status === undefined) return error;
  const said = withoutKeys(error.message.replace(/^\d{3} /, ""));
  switch (error.status) {
    // Not followed by what the backend said: it tends to repeat the key.
    case 401:
      return new RemoteError(`Cannot ${what}: the backend refused the key (401). Check the API key of this server.`);
    case 404:
      // A model is a value that was given, no object that could be there.
      if (error.code === "model_not_found") return new BadInputError(`The backend refused to ${what}: ${said}`);
      return new NotFoundError(`The backend refused to ${what}: ${said}`);
    case 409:
      return new ConflictError(`The backend refused to ${what}: ${said}`);
    // Of the key that this server uses, and of how busy it is there: nothing that whoever asks could mend.
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
