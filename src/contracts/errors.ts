/** The caller asked for something that cannot be: HTTP 400, CLI exit 2. The message is shown to people as it is. */
export class BadInputError extends Error {
  override readonly name: string = "BadInputError";
}

/** A file that people may edit cannot be read: nothing is wrong with the request, so HTTP 500, with its sentence. */
export class UnreadableError extends BadInputError {
  override readonly name: string = "UnreadableError";
}

/** What was asked for does not exist: HTTP 404. */
export class NotFoundError extends Error {
  override readonly name: string = "NotFoundError";
}

/** Somebody else changed or holds it: read again and retry, or say who holds it. */
export class ConflictError extends Error {
  override readonly name: string = "ConflictError";
}

/** Too much is being asked for at once: HTTP 429, worth trying again. */
export class BusyError extends Error {
  override readonly name: string = "BusyError";
}

/** A source, a backend or the sign-in did not do its part. The message carries what it said, never a secret. */
export class RemoteError extends Error {
  override readonly name: string = "RemoteError";
}

/** What is stored cannot be read any more. The message says what, and how it is made anew. */
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

/** The job was told to stop. Not a failure: thrown through the verbs, turned into `cancelled` by the runner. */
export class CancelledError extends Error {
  override readonly name: string = "CancelledError";
}

/** One sentence for people: the message, then its causes, without stacks. */
export function explain(error: unknown): string {
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
