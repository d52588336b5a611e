import { Hono } from "hono";
import type { App } from "../app/app.ts";
import { explain } from "../contracts/errors.ts";
import { crawlEndpoints } from "./endpoints/crawl-endpoints.ts";
import { doctorEndpoints } from "./endpoints/doctor-endpoints.ts";
import { domainEndpoints } from "./endpoints/domain-endpoints.ts";
import { generationEndpoints } from "./endpoints/generation-endpoints.ts";
import { jobEndpoints } from "./endpoints/job-endpoints.ts";
import { queryEndpoints } from "./endpoints/query-endpoints.ts";
import { reportEndpoints } from "./endpoints/report-endpoints.ts";
import { searchEndpoints } from "./endpoints/search-endpoints.ts";
import { mountWire } from "./endpoints/wire-mount.ts";
import { KEEP_ALIVE_MS } from "./grammar/event-stream.ts";
import { toFailure } from "./grammar/failure.ts";
import { mountEndpoints } from "./grammar/mount-endpoints.ts";
import { mountAssets } from "./pages/assets.ts";
import { gatherHome } from "./pages/home-model.ts";
import { homePage } from "./pages/home-page.ts";
import { describeProduct } from "./product.ts";
import { checkHost } from "./safety/check-host.ts";
import { securityHeaders } from "./safety/security-headers.ts";

export interface HttpOptions {
  /** Host names this server answers to, beside the loopback ones. */
  readonly hosts?: readonly string[];
  readonly keepAliveMs?: number;
  /** Where unexpected errors go, one line each; default: standard error. */
  readonly log?: (line: string) => void;
}

/** Every route of the product. */
export function createHttpApp(app: App, options: HttpOptions = {}): Hono {
  const log = options.log ?? ((line: string) => process.stderr.write(`${line}\n`));
  const logError = (about: string, error: unknown): void => log(`${about}: ${describe(error)}`);
  const http = new Hono({ strict: false });
  http.use(securityHeaders);
  http.use(checkHost(options.hosts ?? []));
  mountAssets(http);
  mountHome(http, app);
  mountEndpoints(
    http,
    [
      ...domainEndpoints(app),
      ...doctorEndpoints(app),
      ...crawlEndpoints(app),
      ...jobEndpoints(app),
      ...reportEndpoints(app),
      ...queryEndpoints(app),
      ...searchEndpoints(app),
      ...generationEndpoints(app),
    ],
    {
      runner: app.runner,
      jobs: app.jobs,
      keepAliveMs: options.keepAliveMs ?? KEEP_ALIVE_MS,
      logError,
      indexPath: "/v2",
    },
  );
  mountWire(http, app.wire, logError);
  http.notFound((c) =>
    c.json({ ok: false, error: `Nothing is at '${c.req.path}'. GET /v2 lists what there is.`, data: {} }, 404),
  );
  http.onError((error, c) => {
    const failure = toFailure(error);
    if (failure.status >= 500) logError(`${c.req.method} ${c.req.path}`, error);
    return c.json({ ok: false, error: failure.message, data: {} }, failure.status);
  });
  return http;
}

function mountHome(http: Hono, app: App): void {
  const startedAtMs = Date.now();
  const product = describeProduct(app);
  http.get("/health", (c) => {
    const uptimeSeconds = Math.floor((Date.now() - startedAtMs) / 1000);
    return c.json({ ok: true, ...product, uptime_seconds: uptimeSeconds });
  });
  http.get("/", async (c) => {
    const url = new URL(c.req.url);
    return c.html(await homePage(await gatherHome(app, url.searchParams), { ...product, origin: url.origin }));
  });
}

/** For the log, so with its stack; errors keep secrets out of their messages. */
function describe(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? "").split("\n").slice(1).join("\n") : "";
  return stack === "" ? explain(error) : `${explain(error)}\n${stack}`;
}
