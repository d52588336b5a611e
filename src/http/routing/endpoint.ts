import type { Principal, Role } from "../../contracts/access.ts";
import type { Result } from "../../contracts/job.ts";
import type { JobWork } from "../../jobs/job-runner.ts";
import type { Frame, Html } from "../pages/layout.ts";
import { type Envelope, resultEnvelope } from "./envelope.ts";
import type { PageFacts } from "./listing.ts";
import type { Arguments, Parameters } from "./parameters.ts";

export type Method = "GET" | "POST" | "PUT" | "DELETE";
/** The last three are bytes to keep: as they are, packed, or as a table for spreadsheets. */
export type Format = "json" | "html" | "ui" | "stream" | "raw" | "zip" | "csv";

/** What every endpoint answers with, before it is put into a format. */
export interface Answer<T> extends Result {
  readonly data: T;
  /** Of a list of which only a part was asked for. */
  readonly page?: PageFacts | undefined;
  /** It was taken on and is done later: 202. */
  readonly later?: boolean;
}

/** Bytes to keep. They are produced while they are sent. */
export interface RawAnswer {
  readonly content: AsyncIterable<Uint8Array>;
  /** undefined: not known before the end. */
  readonly bytes: number | undefined;
  /** Never one that a browser would run. */
  readonly mediaType: string;
  readonly fileName: string;
  /** The address names these bytes and no others, so whoever has them need not ask again. */
  readonly lasting?: true;
}

/** A request that passed the grammar: the part of it that an endpoint may still want to know. */
export interface Call {
  /** Path and query as asked for. */
  readonly endpoint: string;
  readonly format: Format;
  readonly principal: Principal;
  readonly header: (name: string) => string | undefined;
  /** Aborts when the client of a stream goes away. */
  readonly signal: AbortSignal;
}

/** The query parameters by name, and the fields of the body below `body`. */
export type EndpointArguments<Q extends Parameters, B extends Parameters> = Arguments<Q> & {
  readonly body: Arguments<B>;
};

/**
 * One endpoint, said once: routing, validation, refusals, documentation and formats all follow from this.
 * `json`, `html` and `ui` are answered by `run`; without `run`, by `job` at its end. `stream` is answered by `stream`, or by the events of
 * `job`; `raw`, `zip` and `csv` by `raw`.
 */
export interface EndpointSpec<Q extends Parameters, B extends Parameters, T> {
  readonly path: string;
  readonly methods: readonly Method[];
  /** The first is the default. */
  readonly formats: readonly Format[];
  readonly description: string;
  /** What it changes, for people; null: it only reads. Decides whether other sites may trigger it by GET. */
  readonly changes: string | null;
  /** It only reads, but asks whoever the request names, perhaps with a secret of this server: other sites must not trigger that either. */
  readonly asksNamedHost?: true;
  /**
   * Whether these arguments delete, overwrite or hide something, or confirm removals: then people who only opened the address
   * are asked first. What has DELETE among its methods always does; a dry run never.
   */
  readonly destroys?: (args: EndpointArguments<Q, B>) => boolean;
  /** Who may call it; left out: `read` where it changes nothing, else `operate`. */
  readonly role?: Role;
  readonly query: Q;
  /** Fields of a JSON or form body; absent: the body is not read. */
  readonly body?: B;
  readonly unknownParameters?: "refused" | "tolerated";
  /** Query strings ("?domain_id=DEMO") or whole command lines. */
  readonly examples: readonly string[];
  /** What a GET without parameters is answered with; clients of the functions expect the answer itself. */
  readonly bareGet?: "documentation" | "answer";
  /** Of an endpoint that may answer 202: what it then does later, for people. */
  readonly later?: string;
  readonly envelope?: Envelope;
  readonly run?: (args: EndpointArguments<Q, B>, call: Call) => Promise<Answer<T>>;
  readonly job?: (args: EndpointArguments<Q, B>, call: Call) => Promise<JobWork>;
  /** null: there is nothing more to come, and the client should not ask again. */
  readonly stream?: (args: EndpointArguments<Q, B>, call: Call) => Promise<AsyncIterable<Uint8Array> | null>;
  readonly raw?: (args: EndpointArguments<Q, B>, call: Call) => Promise<RawAnswer>;
  /** `format=html`; instead of nested tables. */
  readonly html?: Rendering<Q, B, T>;
  /** `format=ui` */
  readonly ui?: Rendering<Q, B, T>;
}

/** The page that an answer becomes. */
export type Rendering<Q extends Parameters, B extends Parameters, T> = (
  answer: Answer<T>,
  args: EndpointArguments<Q, B>,
  frame: Frame,
) => Html;

type Defaulted = "envelope" | "unknownParameters" | "role";

/** An endpoint whose argument types have done their work. */
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

/** A list, or the part of it that was asked for. */
export function okPart<T>({
  rows,
  page,
}: {
  readonly rows: readonly T[];
  readonly page: PageFacts | undefined;
}): Answer<readonly T[]> {
  return { ok: true, error: "", data: rows, page };
}
