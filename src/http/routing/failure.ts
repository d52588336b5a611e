import { mayAct, type Principal, type Role } from "../../contracts/access.ts";
import {
  BadInputError,
  BusyError,
  ConflictError,
  explain,
  NotFoundError,
  RemoteError,
  UnreadableError,
} from "../../contracts/errors.ts";

type RefusalStatus = 401 | 403 | 404 | 408 | 413 | 429 | 503;

/** The request is refused, whatever it asks for; `status` is the HTTP status. */
export class RefusedError extends Error {
  override readonly name: string = "RefusedError";
  readonly status: RefusalStatus;
  constructor(status: RefusalStatus, message: string) {
    super(message);
    this.status = status;
  }
}

export type FailureStatus = RefusalStatus | 400 | 409 | 500 | 502;

export interface Failure {
  readonly status: FailureStatus;
  readonly message: string;
}

const UNEXPECTED = "Something went wrong on the server. The reason is in its log.";

/** Maps an error to a status and a message. Errors that were not written for people become a plain 500. */
export function toFailure(error: unknown): Failure {
  if (error instanceof RefusedError) return { status: error.status, message: error.message };
  if (error instanceof UnreadableError) return { status: 500, message: explain(error) };
  if (error instanceof BadInputError) return { status: 400, message: explain(error) };
  if (error instanceof NotFoundError) return { status: 404, message: explain(error) };
  if (error instanceof ConflictError) return { status: 409, message: explain(error) };
  if (error instanceof BusyError) return { status: 429, message: explain(error) };
  if (error instanceof RemoteError) return { status: 502, message: explain(error) };
  return { status: 500, message: UNEXPECTED };
}

/** Whether an error was not expected, so that its stack belongs into the log. */
export function isUnexpected(error: unknown): boolean {
  return toFailure(error).message === UNEXPECTED;
}

/** Throws a RefusedError that names the role that is needed. */
export function requireRole(principal: Principal, role: Role): void {
  if (mayAct(principal, role)) return;
  throw new RefusedError(403, `This needs the role '${role}'; '${principal.name}' has '${principal.role}'.`);
}
