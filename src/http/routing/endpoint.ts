import type { Principal, Role } from "../../contracts/access.ts";
import type { Result } from "../../contracts/job.ts";
import type { JobWork } from "../../jobs/job-runner.ts";
import type { Frame, Html } from "../pages/layout.ts";
import { type Envelope, resultEnvelope } from "./envelope.ts";
import type { PageFacts } from "./listing.ts";
import type { Arguments, Parameters } from "./parameters.ts";

export type Method = "GET" | "POST" | "PUT" | "DELETE";
/** The last three are downloads: as stored, zipped, or as a table for spreadsheets. */
export type Format = "json" | "html" | "ui" | "stream" | "raw" | "zip" | "csv";

/** The answer of an endpoint, before it is put into a format. */
export interface Answer<T> extends Result {
  readonly data: T;
  /** For a page of a list: where its rows are in the whole. */
  readonly page?: PageFacts | undefined;
  /** Accepted, and done later: 202. */
  readonly later?: boolean;
}

/** A download. Its bytes are produced while they are sent. */
export interface RawAnswer {
  readonly content: AsyncIterable<Uint8Array>;
  /** undefined: not known before the end. */
  readonly bytes: number | undefined;
  /** Never a type that a browser would execute. */
  readonly mediaType: string;
  readonly fileName: string;
  /** The address always has these bytes, so clients may cache them. */
  readonly lasting?: true;
}

/** What an endpoint may need to know about a valid request beside its arguments. */
export interface Call {
  /** Path and query as sent. */
  readonly endpoint: string;
  readonly format: Format;
  readonly principal: Principal;
  readonly header: (name: string) => string | undefined;
  /** Where the caller reaches this server; addresses in answers begin so. */
  readonly origin: string;
  /** The body, for endpoints that take bytes; it is read only by them. */
  readonly content: ReadableStream<Uint8Array> | null;
  /** Aborts when the client of a stream goes away. */
  readonly signal: AbortSignal;
}

/** The query parameters by name, and the fields of the body below `body`. */
export type EndpointArguments<Q extends Parameters, B extends Parameters> = Arguments<Q> & {
  readonly body: Arguments<B>;
};

/**
 * Declares one endpoint: routing, validation, refusals, documentation and formats follow from this. `json`, `html` and `ui` are
 * answered by `run`; without `run`, by the result of `job`. `stream` is answered by `stream`, or by the events of `job`; `raw`,
 * `zip` and `csv` by `raw`.
 */
export interface EndpointSpec<Q extends Parameters, B extends Parameters, T> {
  readonly path: string;
  readonly methods: readonly Method[];
  /** The first is the default. */
  readonly formats: readonly Format[];
  readonly description: string;
  /** What it changes, for people; null: it only reads. Decides whether other sites may trigger it by GET. */
  readonly changes: string | null;
  /**
   * It only reads, but sends requests to a host that the client names, perhaps with a secret of this server: other sites must
   * not trigger it.
   */
  readonly asksNamedHost?: true;
  /**
   * Returns whether these arguments delete, overwrite or hide something, or confirm removals: then a person who only opened the
   * address is asked first. An endpoint with DELETE always does; a dry run never.
   */
  readonly destroys?: (args: EndpointArguments<Q, B>) => boolean;
  /** Arguments that the audit log leaves out, because they name what is to be erased. */
  readonly unaudited?: readonly string[];
  /** Its pages are also for those who may only read; of other endpoints these get JSON and the like. */
  readonly forReaders?: true;
  /** The role it needs. Default: `read` if it changes nothing, else `operate`. */
  readonly role?: Role;
  readonly query: Q;
  /** Fields of a JSON or form body; absent: the body is not read. */
  readonly body?: B;
  readonly unknownParameters?: "refused" | "tolerated";
  /** Query strings ("?domain_id=DEMO") or whole command lines. */
  readonly examples: readonly string[];
  /** The answer to a GET without parameters. Clients of the functions expect `answer`. */
  readonly bareGet?: "documentation" | "answer";
  /** For an endpoint that may answer 202: what it does later, for people. */
  readonly later?: string;
  readonly envelope?: Envelope;
  readonly run?: (args: EndpointArguments<Q, B>, call: Call) => Promise<Answer<T>>;
  readonly job?: (args: EndpointArguments<Q, B>, call: Call) => Promise<JobWork>;
  /** null: the stream has ended, and the client should not reconnect. */
  readonly stream?: (args: EndpointArguments<Q, B>, call: Call) => Promise<AsyncIterable<Uint8Array> | null>;
  readonly raw?: (args: EndpointArguments<Q, B>, call: Call) => Promise<RawAnswer>;
  /** `format=html`; instead of nested tables. */
  readonly html?: Rendering<Q, B, T>;
  /** `format=ui` */
  readonly ui?: Rendering<Q, B, T>;
}

/** Renders an answer as a page. */
export type Rendering<Q extends Parameters, B extends Parameters, T> = (
  answer: Answer<T>,
  args: EndpointArguments<Q, B>,
  frame: Frame,
) => Html;

type Defaulted = "envelope" | "unknownParameters" | "role";

/** An endpoint with its argument types erased. */
export type Endpoint = Required<Pick<EndpointSpec<Parameters, Parameters, unknown>, Defaulted>> &
  EndpointSpec<Parameters, Parameters, unknown>;

export function endpoint<Q extends Parameters, T, B extends Parameters = Record<never, never>>(
  spec: EndpointSpec<Q, B, T>,
): Endpoint {
  const role: Role = spec.changes === null ? "read" : "operate";
  const complete = { envelope: resultEnvelope, unknownParameters: "refused", role, ...spec };
  // Sound because readArguments builds the arguments from these very parameters.
  return complete as unknown as Endpoint;
}

export function ok<T>(data: T): Answer<T> {
  return { ok: true, error: "", data };
}

/** A list, or one page of it. */
export function okPart<T>({
  rows,
  page,
}: {
  readonly rows: readonly T[];
  readonly page: PageFacts | undefined;
}): Answer<readonly T[]> {
  return { ok: true, error: "", data: rows, page };
}
