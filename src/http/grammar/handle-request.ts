import type { Context } from "hono";
import type { Principal } from "../../contracts/access.ts";
import type { AuditLog } from "../../contracts/audit.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { JobRunner } from "../../jobs/job-runner.ts";
import type { JobStore } from "../../jobs/job-store.ts";
import type { HttpEnv } from "../http-env.ts";
import type { Frame } from "../pages/layout.ts";
import type { ProductFacts } from "../product.ts";
import type { Confirmations } from "../safety/confirmations.ts";
import { refuseForeign } from "../safety/refuse-foreign.ts";
import { requireRole } from "../safety/require-role.ts";
import { askFirst } from "./ask-first.ts";
import type { AuditRecord } from "./audit-request.ts";
import type { Answer, Call, Endpoint, Taken } from "./endpoint.ts";
import { RefusedError } from "./failure.ts";
import type { Parameters } from "./parameters.ts";
import { readArguments, readFormat } from "./read-arguments.ts";
import { respondAnswer, respondRaw, respondStream, respondStreamHead } from "./respond.ts";
import { runToEnd } from "./run-to-end.ts";

export interface GrammarParts {
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

/** A request that the endpoint accepts, with everything that was read from it. */
interface Accepted {
  readonly one: Endpoint;
  readonly args: Taken<Parameters, Parameters>;
  readonly call: Call;
}

/** Checks what was asked for, in the order in which a person would want to hear what is wrong, and answers it. */
export async function handleRequest(
  one: Endpoint,
  c: Context<HttpEnv>,
  { url, frame, record, confirmation, confirmations }: Handling,
  parts: GrammarParts,
): Promise<Response> {
  const gone = new AbortController();
  // The client may leave before there is a stream that could be cancelled.
  c.req.raw.signal.addEventListener("abort", () => gone.abort(), { once: true });
  if (c.req.raw.signal.aborted) gone.abort();
  refuseMethod(one, c.req.method);
  const format = readFormat(one, url.searchParams);
  const mayBeAsked = one.changes !== null && c.req.method === "GET";
  if (one.changes !== null || one.asksNamedHost) refuseForeign(c.req.raw, { exceptSilent: mayBeAsked });
  const principal = admit(one, c.get("principal"));
  const args = await readArguments(one, c.req.raw, url.searchParams);
  record.args = args;
  const asking = mayBeAsked && (await askFirst(one, c, { args, frame, confirmation, confirmations }));
  if (asking) return asking;
  await record.begin();
  const header = (name: string): string | undefined => c.req.header(name);
  const call: Call = { endpoint: url.pathname + url.search, format, principal, header, signal: gone.signal };
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

async function answerOf({ one, args, call }: Accepted, parts: GrammarParts): Promise<Answer<unknown>> {
  if (one.run) return one.run(args, call);
  if (one.job) return runToEnd(parts.runner, await one.job(args, call), call);
  throw new Error(`answer ${one.path}: it declares '${call.format}' but neither run nor job`);
}

async function stream(
  { one, args, call }: Accepted,
  parts: GrammarParts,
  gone: AbortController,
  record: AuditRecord,
): Promise<Response> {
  if (one.stream) return respondStream(await one.stream(args, call), call.endpoint, parts, gone);
  if (!one.job) throw new Error(`stream ${one.path}: it declares 'stream' but neither stream nor job`);
  const { start, work } = await one.job(args, call);
  const { jobId } = await parts.runner.start({ ...start, endpoint: call.endpoint }, work);
  // How it goes on is in the job's own file.
  await record.write({ ok: true, error: "" });
  return respondStream(parts.jobs.follow(jobId, { signal: call.signal }), call.endpoint, parts, gone);
}

async function raw({ one, args, call }: Accepted, c: Context, parts: GrammarParts): Promise<Response> {
  if (!one.raw) throw new Error(`answer ${one.path}: it declares '${call.format}' and has no bytes`);
  return respondRaw(await one.raw(args, call), c.req.method, (error) => parts.logError(call.endpoint, error));
}
