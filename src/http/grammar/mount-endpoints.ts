import type { Context, Hono } from "hono";
import { BadInputError } from "../../contracts/errors.ts";
import type { JobRunner, JobWork } from "../../jobs/job-runner.ts";
import type { JobStore } from "../../jobs/job-store.ts";
import { refuseForeign } from "../safety/refuse-foreign.ts";
import { describeAll, describeEndpoint } from "./describe-endpoint.ts";
import type { Answer, Call, Endpoint, Format, Taken } from "./endpoint.ts";
import { toFailure } from "./failure.ts";
import type { Parameters } from "./parameters.ts";
import { readArguments, readFormat } from "./read-arguments.ts";
import { respondAnswer, respondFailure, respondRaw, respondStream } from "./respond.ts";

export interface GrammarParts {
  readonly runner: JobRunner;
  readonly jobs: JobStore;
  readonly keepAliveMs: number;
  readonly logError: (about: string, error: unknown) => void;
}

/** Gives every endpoint its route, and the index of them all its own at `indexPath`. */
export function mountEndpoints(
  http: Hono,
  endpoints: readonly Endpoint[],
  options: GrammarParts & { readonly indexPath: string },
): void {
  http.get(options.indexPath, (c) => c.text(describeAll(endpoints, new URL(c.req.url).origin)));
  for (const one of endpoints) {
    const below = endpoints.filter((other) => other.path.startsWith(`${one.path}/`));
    http.all(one.path, (c) => handle(one, below, c, options));
  }
}

async function handle(one: Endpoint, below: readonly Endpoint[], c: Context, parts: GrammarParts): Promise<Response> {
  const url = new URL(c.req.url);
  const gone = new AbortController();
  // The client may leave before there is a stream that could be cancelled.
  c.req.raw.signal.addEventListener("abort", () => gone.abort(), { once: true });
  if (c.req.raw.signal.aborted) gone.abort();
  try {
    if (c.req.method === "GET" && url.search === "") return c.text(describeEndpoint(one, below, url.origin));
    refuseMethod(one, c.req.method);
    const format = readFormat(one, url.searchParams);
    if (one.changes !== null) refuseForeign(c.req.raw);
    const args = await readArguments(one, c.req.raw);
    const call: Call = {
      endpoint: url.pathname + url.search,
      format,
      header: (name) => c.req.header(name),
      signal: gone.signal,
    };
    if (format === "stream") return await stream(one, args, call, parts, gone);
    if (format === "raw") return await raw(one, args, call, c, parts);
    return await answer(one, args, call, format, c, parts);
  } catch (error) {
    const failure = toFailure(error);
    if (failure.status >= 500) parts.logError(`${c.req.method} ${url.pathname}`, error);
    const html =
      url.searchParams.get("format") === "html" || (one.formats[0] === "html" && !url.searchParams.has("format"));
    return respondFailure(c, one, failure, html && one.formats.includes("html") ? "html" : "json");
  }
}

function refuseMethod(one: Endpoint, method: string): void {
  const readsOnly = one.changes === null && one.methods.includes("GET");
  if (one.methods.some((known) => known === method) || (method === "HEAD" && readsOnly)) return;
  throw new BadInputError(`HTTP method '${method}' not supported.`);
}

async function answer(
  one: Endpoint,
  args: Taken<Parameters, Parameters>,
  call: Call,
  format: Exclude<Format, "stream" | "raw">,
  c: Context,
  parts: GrammarParts,
): Promise<Response> {
  if (one.run) return respondAnswer(c, one, await one.run(args, call), args, format);
  if (one.job) return respondAnswer(c, one, await runToEnd(await one.job(args, call), call, parts), args, format);
  throw new Error(`answer ${one.path}: it declares '${format}' but neither run nor job`);
}

async function stream(
  one: Endpoint,
  args: Taken<Parameters, Parameters>,
  call: Call,
  parts: GrammarParts,
  gone: AbortController,
): Promise<Response> {
  if (one.stream) return respondStream(await one.stream(args, call), call.endpoint, parts, gone);
  if (!one.job) throw new Error(`stream ${one.path}: it declares 'stream' but neither stream nor job`);
  const { start, work } = await one.job(args, call);
  const { jobId } = await parts.runner.start({ ...start, endpoint: call.endpoint }, work);
  return respondStream(parts.jobs.follow(jobId, { signal: call.signal }), call.endpoint, parts, gone);
}

async function raw(
  one: Endpoint,
  args: Taken<Parameters, Parameters>,
  call: Call,
  c: Context,
  parts: GrammarParts,
): Promise<Response> {
  if (!one.raw) throw new Error(`answer ${one.path}: it declares 'raw' and has none`);
  return respondRaw(await one.raw(args, call), c.req.method, (error) => parts.logError(call.endpoint, error));
}

/** The client may hang up meanwhile: the job does not notice. */
async function runToEnd({ start, work }: JobWork, call: Call, parts: GrammarParts): Promise<Answer<unknown>> {
  const running = await parts.runner.start({ ...start, endpoint: call.endpoint }, work);
  const { jobId, state, result } = await running.done;
  const data = typeof result?.data === "object" && result.data !== null ? result.data : {};
  return { ok: result?.ok ?? false, error: result?.error ?? "", data: { job_id: jobId, state, ...data } };
}
