import { BadInputError, ConflictError, explain, NotFoundError, RemoteError } from "../../contracts/errors.ts";

/** The request itself is not acceptable, whatever it asks for; `status` says in which way. */
export class RefusedError extends Error {
  override readonly name: string = "RefusedError";
  readonly status: 403 | 404 | 413;
  constructor(status: 403 | 404 | 413, message: string) {
    super(message);
    this.status = status;
  }
}

export type FailureStatus = 400 | 403 | 404 | 409 | 413 | 500 | 502;

export interface Failure {
  readonly status: FailureStatus;
  readonly message: string;
}

const UNEXPECTED = "Something went wrong on the server. The reason is in its log.";

/** Only errors that were meant for people reach people; of any other the client learns nothing but that it happened. */
export function toFailure(error: unknown): Failure {
  if (error instanceof RefusedError) return { status: error.status, message: error.message };
  if (error instanceof BadInputError) return { status: 400, message: explain(error) };
  if (error instanceof NotFoundError) return { status: 404, message: explain(error) };
  if (error instanceof ConflictError) return { status: 409, message: explain(error) };
  if (error instanceof RemoteError) return { status: 502, message: explain(error) };
  return { status: 500, message: UNEXPECTED };
}
