import { BadInputError, RemoteError } from "../../contracts/errors.ts";

/** `db.example:5432/lockstep`, for people: an address without user and password. */
export function describePostgres(url: string): string {
  const { hostname, port, pathname } = parsePostgresUrl(url);
  return `${hostname || "localhost"}:${port || 5432}${pathname}`;
}

/** Throws BadInputError that does not repeat the address: it has a password in it. */
export function parsePostgresUrl(url: string): URL {
  const parsed = URL.parse(url);
  if (parsed && /^postgres(ql)?:$/.test(parsed.protocol)) return parsed;
  throw new BadInputError(
    "DATABASE_URL must be the address of a PostgreSQL database: postgres://user:password@host:5432/database.",
  );
}

/** Another try has a chance: PostgreSQL gave this transaction up for the sake of another. */
export function isContention(error: unknown): boolean {
  const code = codeOf(error);
  return code === "40001" || code === "40P01";
}

/** Trouble with the connection becomes a RemoteError with one clear sentence; anything else stays what it is. */
export function explainTrouble(error: unknown, where: string): unknown {
  const reason = connectionTrouble(error);
  return reason === undefined ? error : new RemoteError(`reach PostgreSQL at ${where}: ${reason}`, { cause: error });
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody listens there",
  ENOTFOUND: "there is no such host",
  EAI_AGAIN: "the name of the host cannot be looked up",
  ETIMEDOUT: "it does not answer",
  ECONNRESET: "the connection was cut",
  EPIPE: "the connection was cut",
  "28P01": "the user name or the password is wrong",
  "28000": "this user may not connect",
  "3D000": "there is no such database",
  "53300": "it has no connection left; raise max_connections, or start fewer processes",
  "57P01": "it is being stopped",
  "57P02": "it crashed and restarts",
  "57P03": "it is starting or stopping",
  "25P03": "a transaction did nothing for too long and was ended",
};

function connectionTrouble(error: unknown): string | undefined {
  const code = codeOf(error);
  if (code !== undefined && Object.hasOwn(REASONS, code)) return REASONS[code];
  if (code?.startsWith("08")) return "the connection was cut";
  const message = error instanceof Error ? error.message : "";
  if (/connection terminated|not queryable|Client was closed/i.test(message)) return "the connection was cut";
  if (/timeout (exceeded )?when trying to connect|timeout expired/i.test(message)) return "it does not answer";
  return /does not support SSL/i.test(message) ? "it does not speak TLS; leave sslmode out of the address" : undefined;
}

function codeOf(error: unknown): string | undefined {
  // Node tries every address of a host and gathers what went wrong.
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : undefined;
}
