/** The request is invalid: HTTP 400, CLI exit 2. The message is shown to users as it is. */
export class BadInputError extends Error {
  override readonly name: string = "BadInputError";
}

/** A file that users may edit cannot be read. The request is valid, so HTTP 500, with the message. */
export class UnreadableError extends BadInputError {
  override readonly name: string = "UnreadableError";
}

/** What was asked for does not exist: HTTP 404. */
export class NotFoundError extends Error {
  override readonly name: string = "NotFoundError";
}

/** Another process changed or holds it: read again and retry, or report the holder. */
export class ConflictError extends Error {
  override readonly name: string = "ConflictError";
}

/** Too many concurrent requests: HTTP 429, worth a retry. */
export class BusyError extends Error {
  override readonly name: string = "BusyError";
}

/** A source, a backend or the sign-in failed. The message has its answer, never a secret. */
export class RemoteError extends Error {
  override readonly name: string = "RemoteError";
}

/** Stored data cannot be read. The message says which, and how to rebuild it. */
export class DamagedError extends RemoteError {
  override readonly name: string = "DamagedError";
  readonly problem: string;
  readonly remedy: string;
  constructor(problem: string, remedy: string) {
    super(`${problem} ${remedy}`);
    this.problem = problem;
    this.remedy = remedy;
  }
}

/** The job was cancelled. Not a failure: passes through the engine, and the runner turns it into `cancelled`. */
export class CancelledError extends Error {
  override readonly name: string = "CancelledError";
}

/** Returns one sentence for users: the message, then its causes, without stacks. */
export function explain(error: unknown): string {
  // Closing failed, too: what came first is the reason.
  if (error instanceof SuppressedError) return explain(error.suppressed);
  const parts: string[] = [];
  for (let at: unknown = error; at !== undefined && parts.length < 4; at = at instanceof Error ? at.cause : undefined) {
    const text = at instanceof Error ? at.message || at.name : String(at);
    if (text && !parts.some((part) => part.includes(text))) parts.push(text);
  }
  return parts
    .map((part, i) => (i < parts.length - 1 ? part.replace(/[.:]\s*$/, "") : part))
    .join(": ")
    .replaceAll(/\s*[\r\n]+\s*/g, " ");
}
