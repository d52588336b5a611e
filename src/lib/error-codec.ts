import {
  BadInputError,
  CancelledError,
  ConflictError,
  DamagedError,
  NotFoundError,
  RemoteError,
} from "../contracts/errors.ts";

/** Error classes that survive packing. An error of a subclass is unpacked as one of these. */
const KINDS = { BadInputError, CancelledError, ConflictError, NotFoundError, RemoteError } as const;
/** As many as explain() shows. */
const MAX_CAUSES = 4;

/** An error for another thread or process: a structured clone would lose its class. */
export interface PackedError {
  readonly kind: keyof typeof KINDS | "DamagedError" | "Error";
  /** The message; for a DamagedError only the problem. */
  readonly message: string;
  readonly remedy?: string;
  readonly stack?: string | undefined;
  readonly cause?: PackedError;
}

export function packError(error: unknown, causes = MAX_CAUSES): PackedError {
  if (!(error instanceof Error)) return { kind: "Error", message: String(error) };
  const { message, stack } = error;
  if (error instanceof DamagedError) {
    return { kind: "DamagedError", message: error.problem, remedy: error.remedy, stack };
  }
  const kind = Object.entries(KINDS).find(([, known]) => error instanceof known)?.[0] as keyof typeof KINDS | undefined;
  const cause = error.cause === undefined || causes === 0 ? {} : { cause: packError(error.cause, causes - 1) };
  return { kind: kind ?? "Error", message, stack, ...cause };
}

export function unpackError({ kind, message, remedy, stack, cause }: PackedError): Error {
  const error = makeError(kind, message, remedy, cause && { cause: unpackError(cause) });
  if (stack !== undefined) error.stack = stack;
  return error;
}

function makeError(kind: PackedError["kind"], message: string, remedy = "", options?: ErrorOptions): Error {
  if (kind === "DamagedError") return new DamagedError(message, remedy);
  return kind === "Error" ? new Error(message, options) : new KINDS[kind](message, options);
}
