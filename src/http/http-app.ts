import { Hono } from "hono";
import type { App } from "../app/app.ts";
import { mayAct } from "../contracts/access.ts";
import { explain } from "../contracts/errors.ts";
import { logLine } from "../lib/text.ts";
import { answerEndpoints } from "./endpoints/answer-endpoints.ts";
import { auditEndpoints } from "./endpoints/audit-endpoints.ts";
import { crawlEndpoints } from "./endpoints/crawl-endpoints.ts";
import { describeEndpoints } from "./endpoints/describe-endpoints.ts";
import { doctorEndpoints } from "./endpoints/doctor-endpoints.ts";
import { documentEndpoints } from "./endpoints/document-endpoints.ts";
import { domainEndpoints } from "./endpoints/domain-endpoints.ts";
import { eraseEndpoints } from "./endpoints/erase-endpoints.ts";
import { explainEndpoints } from "./endpoints/explain-endpoints.ts";
import { feedbackEndpoints } from "./endpoints/feedback-endpoints.ts";
import { functionEndpoints } from "./endpoints/function-endpoints.ts";
import { generationEndpoints } from "./endpoints/generation-endpoints.ts";
import { ingestEndpoints } from "./endpoints/ingest-endpoints.ts";
import { jobEndpoints } from "./endpoints/job-endpoints.ts";
import { keyEndpoints } from "./endpoints/key-endpoints.ts";
import { maintenanceEndpoints } from "./endpoints/maintenance-endpoints.ts";
import { planEndpoints } from "./endpoints/plan-endpoints.ts";
import { queryEndpoints } from "./endpoints/query-endpoints.ts";
import { questionEndpoints } from "./endpoints/question-endpoints.ts";
import { reportEndpoints } from "./endpoints/report-endpoints.ts";
import { searchEndpoints } from "./endpoints/search-endpoints.ts";
import { uploadEndpoints } from "./endpoints/upload-endpoints.ts";
import { verifyEndpoints } from "./endpoints/verify-endpoints.ts";
import { mountWire } from "./endpoints/wire-endpoints.ts";
import type { HttpEnv } from "./http-env.ts";
import { describeProduct, type ProductFacts } from "./http-env.ts";
import { inventoryEndpoints } from "./inventory/inventory-endpoints.ts";
import { mountMcp } from "./mcp/mount-mcp.ts";
import { refuseSlowed, requireAuthentication } from "./middleware/authenticate.ts";
import { type Authenticator, createAuthenticator } from "./middleware/authenticator.ts";
import { checkHost, refuseMalformed, securityHeaders } from "./middleware/check-request.ts";
import { identifyClient } from "./middleware/client-address.ts";
import { endWithKey } from "./middleware/end-with-key.ts";
import { refusalBody } from "./middleware/refusal.ts";
import { mountSignIn } from "./middleware/sign-in.ts";
import { nowherePage } from "./pages/answer-page.ts";
import { mountAssets } from "./pages/assets.ts";
import { gatherHome, homePage } from "./pages/home-page.ts";
import { gatherStart, startPage } from "./pages/start-page.ts";
import type { Endpoint } from "./routing/endpoint.ts";
import { isUnexpected, toFailure } from "./routing/failure.ts";
import { mountEndpoints, opensPage } from "./routing/mount-endpoints.ts";
import { KEEP_ALIVE_MS } from "./routing/respond.ts";

export interface HttpOptions {
  /** Host names this server answers to, beside the loopback ones. */
  readonly hosts?: readonly string[];
  readonly keepAliveMs?: number;
  /** Aborted when the server stops: streams that are ended in words get their last ones. */
  readonly closing?: AbortSignal;
  /** How often documents are checked for changes while there are subscriptions. */
  readonly pollEveryMs?: number;
  /** Receives failures of the server, one line each, with the stack if they were unexpected. Default: standard error. */
  readonly log?: (line: string) => void;
}

/** Every route of the product. */
export function createHttpApp(app: App, options: HttpOptions = {}): Hono<HttpEnv> {
  const log = options.log ?? ((line: string) => process.stderr.write(`${line}\n`));
  const logError = (about: string, error: unknown): void => log(`${logLine(about)}: ${describe(error)}`);
  const { access, audit, config } = app;
  const product = describeProduct(app);
  const http = new Hono<HttpEnv>({ strict: false });
  http.use(securityHeaders);
  http.use(checkHost(options.hosts ?? []));
  http.use(refuseMalformed);
  http.use(identifyClient(config));
  mountAssets(http);
  const authenticator = createAuthenticator(access, config.access.withoutKeys);
  mountHealth(http, authenticator, product);
  const endpoints = allEndpoints(app);
  const reading = endpoints.filter((one) => one.changes === null && !one.asksNamedHost).map(({ path }) => path);
  mountSignIn(http, { access, authenticator, audit, product, readingPaths: new Set(["/", ...reading]), logError });
  http.use(requireAuthentication({ authenticator, requestsPerSecond: config.access.requestsPerSecond, logError }));
  http.use(endWithKey(access));
  mountHome(http, app, product, endpoints);
  mountEndpoints(http, endpoints, {
    runner: app.runner,
    jobs: app.jobs,
    audit: app.audit,
    product,
    keepAliveMs: options.keepAliveMs ?? KEEP_ALIVE_MS,
    logError,
  });
  mountWire(http, app, logError);
  mountMcp(http, app, { logError, closing: options.closing, pollEveryMs: options.pollEveryMs });
  http.notFound(async (c) => {
    const body = refusalBody(c.req.path, 404, `Nothing is at '${c.req.path}'. GET /v2 lists what there is.`);
    if (!opensPage(c)) return c.json(body, 404);
    const frame = { product, principal: c.get("principal"), url: new URL(c.req.url) };
    return c.html(await nowherePage(c.req.path, frame), 404);
  });
  http.onError((error, c) => {
    const failure = toFailure(error);
    if (failure.status >= 500) logError(`${c.req.method} ${c.req.path}`, error);
    return c.json(refusalBody(c.req.path, failure.status, failure.message), failure.status);
  });
  return http;
}

function allEndpoints(app: App): readonly Endpoint[] {
  return [
    ...domainEndpoints(app),
    ...doctorEndpoints(app),
    ...crawlEndpoints(app),
    ...planEndpoints(app),
    ...jobEndpoints(app),
    ...reportEndpoints(app),
    ...queryEndpoints(app),
    ...searchEndpoints(app),
    ...answerEndpoints(app),
    ...generationEndpoints(app),
    ...questionEndpoints(app),
    ...feedbackEndpoints(app),
    ...uploadEndpoints(app),
    ...documentEndpoints(app),
    ...maintenanceEndpoints(app),
    ...verifyEndpoints(app),
    ...eraseEndpoints(app),
    ...inventoryEndpoints(app),
    ...describeEndpoints(app),
    ...explainEndpoints(app),
    ...ingestEndpoints(app),
    ...functionEndpoints(app),
    ...keyEndpoints(app),
    ...auditEndpoints(app),
  ];
}

/** Clients that are not authenticated learn only that the server is up. */
function mountHealth(http: Hono<HttpEnv>, authenticator: Authenticator, { version, backend }: ProductFacts): void {
  const startedAtMs = Date.now();
  http.get("/health", async (c) => {
    const result = await authenticator.identify(c).catch(() => undefined);
    if (result?.status === "slowed") return refuseSlowed(c, result.waitMs);
    if (result?.status !== "known") return c.json({ ok: true });
    const uptimeSeconds = Math.floor((Date.now() - startedAtMs) / 1000);
    return c.json({ ok: true, version, backend, uptime_seconds: uptimeSeconds });
  });
}

function mountHome(http: Hono<HttpEnv>, app: App, product: ProductFacts, endpoints: readonly Endpoint[]): void {
  http.get("/", async (c) => {
    const url = new URL(c.req.url);
    const principal = c.get("principal");
    const frame = { product, principal, url };
    if (principal && !mayAct(principal, "operate")) return c.html(await startPage(await gatherStart(app), frame));
    return c.html(await homePage(await gatherHome(app, principal), frame, endpoints));
  });
}

/** For the log: unexpected errors come with their stack. Messages of errors contain no secrets. */
function describe(error: unknown): string {
  const stack = error instanceof Error && isUnexpected(error) ? (error.stack ?? "").split("\n") : [];
  const frames = stack.filter((line) => /^ +at /.test(line)).map(logLine);
  return [logLine(explain(error)), ...frames].join("\n");
}
