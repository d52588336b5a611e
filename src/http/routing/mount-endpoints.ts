import type { Context, Hono } from "hono";
import { mayAct, type Principal } from "../../contracts/access.ts";
import type { AuditLog } from "../../contracts/audit.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { JobId } from "../../contracts/ids.ts";
import type { JobRunner } from "../../jobs/job-runner.ts";
import type { JobStore } from "../../jobs/job-store.ts";
import type { HttpEnv, ProductFacts } from "../http-env.ts";
import { refuseCrossSite } from "../middleware/check-origin.ts";
import { jobResultPage } from "../pages/job-pages.ts";
import type { Frame } from "../pages/layout.ts";
import { type AuditRecord, createRecord } from "./audit-request.ts";
import { type Confirmations, confirmFirst, createConfirmations, takeConfirmation } from "./confirm-first.ts";
import { describeAll, describeEndpoint } from "./describe-endpoint.ts";
import type { Answer, Call, Endpoint, EndpointArguments, Format } from "./endpoint.ts";
import { RefusedError, requireRole, toFailure } from "./failure.ts";
import { describeForPrograms } from "./openapi.ts";
import { type Parameters, readParameters, shorten } from "./parameters.ts";
import { readBody } from "./read-body.ts";
import {
  type Rendered,
  respondAnswer,
  respondFailure,
  respondRaw,
  respondStream,
  respondStreamHead,
} from "./respond.ts";
import { runToEnd } from "./run-to-end.ts";

/** Mounts every endpoint, the list of all as text at `/v2` and as OpenAPI at `/openapi.json`, and the list of the functions at `/api`. */
export function mountEndpoints(http: Hono<HttpEnv>, endpoints: readonly Endpoint[], parts: MountOptions): void {
  const confirmations = createConfirmations();
  const forPrograms = describeForPrograms(endpoints, parts.product);
  http.get("/v2", (c) => c.text(describeAll(endpoints, new URL(c.req.url).origin)));
  http.get("/api", (c) => c.text(describeFunctions(endpoints, new URL(c.req.url).origin)));
  http.get("/openapi.json", (c) => c.json(forPrograms));
  for (const one of endpoints) {
    const below = endpoints.filter((other) => other.path.startsWith(`${one.path}/`));
    http.all(one.path, (c) => answer(one, below, c, { ...parts, confirmations }));
  }
}

function describeFunctions(endpoints: readonly Endpoint[], origin: string): string {
  const functions = endpoints.filter(({ path }) => path.startsWith("/api/"));
  return functions.map((one) => describeEndpoint(one, [], origin)).join("\n\n");
}

async function answer(
  one: Endpoint,
  below: readonly Endpoint[],
  c: Context<HttpEnv>,
  parts: MountOptions & { readonly confirmations: Confirmations },
): Promise<Response> {
  const url = new URL(c.req.url);
  const confirmation = one.changes === null ? undefined : takeConfirmation(url);
  const { confirmations } = parts;
  const isBare = (c.req.method === "GET" || c.req.method === "HEAD") && url.search === "";
  if (isBare && one.bareGet !== "answer") return c.text(describeEndpoint(one, below, url.origin));
  const frame: Frame = { product: parts.product, principal: c.get("principal"), url };
  const record = createRecord(one, c, parts);
  try {
    return await handleRequest(one, c, { url, frame, record, confirmation, confirmations }, parts);
  } catch (error) {
    const failure = toFailure(error);
    // A client that disconnected is not a failure of the server.
    if (failure.status >= 500 && !c.req.raw.signal.aborted) parts.logError(`${c.req.method} ${url.pathname}`, error);
    await record.write({ ok: false, error: failure.message });
    return respondFailure(c, one, failure, { format: failureFormat(one, c, url), frame });
  }
}

/** Returns the format of a failure. A request with an unknown method comes from a program, so it gets JSON. */
function failureFormat(one: Endpoint, c: Context, url: URL): Rendered["format"] {
  const byDefault = one.methods.some((known) => known === c.req.method) ? one.formats[0] : "json";
  const requested = url.searchParams.get("format") ?? byDefault;
  const known = one.formats.find((format) => format === requested);
  if (known === "ui" || known === "html") return known;
  return known === undefined && opensPage(c) ? "html" : "json";
}

/** A browser opens the address as a page: a person looks at the answer. */
export function opensPage(c: Context): boolean {
  return c.req.method === "GET" && /^text\/html\b/.test(c.req.header("accept") ?? "");
}

/** Refuses pages for operators to users with the role `read`: they link to actions that these users may not perform. */
function refuseReader({ forReaders }: Endpoint, principal: Principal): void {
  if (forReaders || mayAct(principal, "operate")) return;
  throw new RefusedError(
    403,
    "This page is for those who look after lockstep: it needs the role 'operate'. You may search, read documents and ask; begin at /.",
  );
}

interface MountOptions {
  readonly runner: JobRunner;
  readonly jobs: JobStore;
  readonly audit: AuditLog;
  readonly product: ProductFacts;
  readonly keepAliveMs: number;
  readonly logError: (about: string, error: unknown) => void;
}

interface Handling {
  readonly url: URL;
  readonly frame: Frame;
  readonly record: AuditRecord;
  readonly confirmation: string | undefined;
  readonly confirmations: Confirmations;
}

/** A valid request with its arguments. */
interface Accepted {
  readonly one: Endpoint;
  readonly args: EndpointArguments<Parameters, Parameters>;
  readonly call: Call;
}

/** Checks method, format, origin, role and arguments, in the order that is most useful to users, and responds. */
async function handleRequest(
  one: Endpoint,
  c: Context<HttpEnv>,
  { url, frame, record, confirmation, confirmations }: Handling,
  parts: MountOptions,
): Promise<Response> {
  const gone = new AbortController();
  // The client may disconnect before there is a stream that could be cancelled.
  c.req.raw.signal.addEventListener("abort", () => gone.abort(), { once: true });
  if (c.req.raw.signal.aborted) gone.abort();
  refuseMethod(one, c.req.method);
  const asked = readFormat(one, url.searchParams);
  // One page for people is enough: where there is no simpler one, it is that of the user interface.
  const format = asked === "html" && !one.html && one.ui ? "ui" : asked;
  const mayNeedConfirmation = one.changes !== null && c.req.method === "GET";
  if (one.changes !== null || one.asksNamedHost) refuseCrossSite(c.req.raw, { exceptSilent: mayNeedConfirmation });
  const principal = admit(one, c.get("principal"));
  if (format === "html" || format === "ui") refuseReader(one, principal);
  const args = await readArguments(one, c.req.raw, url.searchParams);
  record.args = args;
  const confirmPage = mayNeedConfirmation && (await confirmFirst(one, c, { args, frame, confirmation, confirmations }));
  if (confirmPage) return confirmPage;
  await record.begin();
  const header = (name: string): string | undefined => c.req.header(name);
  const origin = c.get("origin");
  const content = one.body ? null : c.req.raw.body;
  const endpoint = url.pathname + url.search;
  const call: Call = { endpoint, format, principal, header, origin, content, signal: gone.signal };
  const accepted: Accepted = { one, args, call };
  switch (format) {
    case "stream":
      return c.req.method === "HEAD" ? respondStreamHead() : stream(accepted, parts, gone, record);
    case "raw":
    case "zip":
    case "csv":
      return raw(accepted, c, parts);
    default: {
      const answer = await answerOf(accepted, parts);
      await record.write(answer);
      if (format === "html" && one.job && !one.run && !one.html) return await showJob(c, answer, frame, parts);
      return respondAnswer(c, one, answer, args, { format, frame });
    }
  }
}

function refuseMethod(one: Endpoint, method: string): void {
  const readsOnly = one.changes === null && one.methods.includes("GET");
  if (one.methods.some((known) => known === method) || (method === "HEAD" && readsOnly)) return;
  throw new BadInputError(`HTTP method '${method}' not supported.`);
}

function admit(one: Endpoint, principal: Principal | undefined): Principal {
  if (principal === undefined) throw new RefusedError(401, "Sign in, or send an API key.");
  requireRole(principal, one.role);
  return principal;
}

async function answerOf({ one, args, call }: Accepted, parts: MountOptions): Promise<Answer<unknown>> {
  if (one.run) return one.run(args, call);
  if (one.job) return runToEnd(parts.runner, await one.job(args, call), call);
  throw new Error(`answer ${one.path}: it declares '${call.format}' but neither run nor job`);
}

/** A job that was waited for, as the page of its result. */
async function showJob(c: Context, { data }: Answer<unknown>, frame: Frame, { jobs }: MountOptions): Promise<Response> {
  const job = await jobs.get((data as { readonly job_id: JobId }).job_id);
  return c.html(await jobResultPage(job, job.result ?? { ok: false, error: "It has no result.", data: {} }, frame));
}

async function stream(
  { one, args, call }: Accepted,
  parts: MountOptions,
  gone: AbortController,
  record: AuditRecord,
): Promise<Response> {
  if (one.stream) return respondStream(await one.stream(args, call), call.endpoint, parts, gone);
  if (!one.job) throw new Error(`stream ${one.path}: it declares 'stream' but neither stream nor job`);
  const { start, work } = await one.job(args, call);
  const { jobId } = await parts.runner.start({ endpoint: call.endpoint, ...start }, work);
  // The rest is in the job's own file.
  await record.write({ ok: true, error: "" });
  return respondStream(parts.jobs.follow(jobId, { signal: call.signal }), call.endpoint, parts, gone);
}

async function raw({ one, args, call }: Accepted, c: Context, parts: MountOptions): Promise<Response> {
  if (!one.raw) throw new Error(`answer ${one.path}: it declares '${call.format}' and has no bytes`);
  return respondRaw(await one.raw(args, call), c.req.method, (error) => parts.logError(call.endpoint, error));
}

/** Reads query and body as the endpoint declares them. Throws BadInputError at the first problem. */
async function readArguments(
  endpoint: Endpoint,
  request: Request,
  params: URLSearchParams,
): Promise<EndpointArguments<Parameters, Parameters>> {
  const query = readQuery(params);
  query.delete("format");
  const rule = { unknown: endpoint.unknownParameters };
  const args = readParameters(endpoint.query, query, { ...rule, noun: "parameter", besides: ["format"] });
  if (!endpoint.body || request.method === "GET") return { ...args, body: {} };
  return { ...args, body: readParameters(endpoint.body, await readBody(request), { ...rule, noun: "field" }) };
}

/** Returns the requested format, or the default. Throws for one that the endpoint does not have. */
function readFormat(endpoint: Endpoint, params: URLSearchParams): Format {
  const requested = params.get("format");
  const format = requested === null ? endpoint.formats[0] : endpoint.formats.find((known) => known === requested);
  if (format === undefined) throw new BadInputError(`Format '${shorten(requested ?? "")}' not supported.`);
  return format;
}

function readQuery(params: URLSearchParams): Map<string, unknown> {
  const query = new Map<string, unknown>();
  for (const [name, value] of params) {
    if (query.has(name)) throw new BadInputError(`'${shorten(name)}' is given more than once.`);
    query.set(name, value);
  }
  return query;
}
