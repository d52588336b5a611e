import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import type { IngestItem, Registry } from "../../src/contracts/registry.ts";
import type { PageVisitor, Visit, VisitOptions, WebClient, WebDocuments } from "../../src/contracts/web.ts";
import { createExtractor, createTextReader } from "../../src/extract/extractor.ts";
import { createWebPageReader } from "../../src/extract/web/create-web-page-reader.ts";
import { openSqlRegistry } from "../../src/ledger/registry/sql-registry.ts";
import { identifyUrl, USUAL_RULES } from "../../src/plan/web/item-identity.ts";
import type { CheckPolicy } from "../../src/plan/web/item-state.ts";
import { createPageVisitor } from "../../src/sources/web/page-visitor.ts";
import type { VisitorParts } from "../../src/sources/web/request-page.ts";
import { createWebClient, type WebClientOptions } from "../../src/sources/web/web-client.ts";
import { createWebDocuments } from "../../src/sources/web/web-documents.ts";
import { createWebImages } from "../../src/sources/web/web-images.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";

export interface PageAnswer {
  readonly status?: number;
  readonly type?: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Without: an ETag of the body. */
  readonly etag?: string | null;
  /** Sends the body although the client knows it. */
  readonly ignoresConditions?: boolean;
  /** Sends no `Content-Type`. */
  readonly untyped?: boolean;
  /** The connection ends after so many bytes of the body. */
  readonly cutAfterBytes?: number;
}

export function html(title: string, body = "", head = ""): string {
  return `<!doctype html><html lang="en"><head><title>${title}</title>${head}</head><body><main><h1>${title}</h1><p>All that is to be said about ${title} is said in this paragraph, which is long enough to count as one.</p>${body}</main></body></html>`;
}

export function linksTo(...paths: string[]): string {
  return `<ul>${paths.map((path) => `<li><a href="${path}">${path}</a></li>`).join("")}</ul>`;
}

export const redirect = (location: string, status = 301): PageAnswer => ({ status, headers: { location }, etag: null });

/** A web site of pages one by one, on loopback. Whatever is not there is 404. */
export class PageSite {
  readonly pages = new Map<string, string | PageAnswer | (() => PageAnswer)>();
  /** `GET /a`, in their order, without robots.txt. */
  asked: string[] = [];
  /** Paths whose body was sent with 200. */
  bodies: string[] = [];
  /** What every request gets instead, while something is wrong with the host. */
  trouble: PageAnswer | undefined;
  /** Asked with this before anything is answered. */
  onRequest: (path: string, headers: IncomingMessage["headers"]) => void | Promise<void> = () => undefined;
  readonly origin: string;
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (request, response) => void this.#answer(request, response));
  }

  /** On a port that the system chooses, unless one is wished for. */
  static async start(port = 0): Promise<PageSite> {
    const server = createServer();
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return new PageSite(server);
  }

  set(path: string, page: string | PageAnswer | (() => PageAnswer)): void {
    this.pages.set(path, page);
  }

  forgetRequests(): void {
    this.asked = [];
    this.bodies = [];
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "";
    if (path !== "/robots.txt") this.asked.push(`${request.method} ${path}`);
    await this.onRequest(path, request.headers);
    const page = this.pages.get(path);
    const found = typeof page === "string" ? { body: page } : typeof page === "function" ? page() : page;
    const answer = path === "/robots.txt" ? (found ?? { status: 404 }) : (this.trouble ?? found ?? { status: 404 });
    const { status = 200, type = "text/html; charset=utf-8", body = "", headers = {}, etag } = answer;
    const tag = etag === undefined ? `"${createHash("sha1").update(body).digest("hex")}"` : etag;
    const sent = {
      ...(answer.untyped ? {} : { "content-type": type }),
      ...(tag !== null && { etag: tag }),
      ...headers,
    };
    const isKnown =
      (tag !== null && request.headers["if-none-match"] === tag) ||
      (headers["last-modified"] !== undefined && request.headers["if-modified-since"] === headers["last-modified"]);
    if (status === 200 && isKnown && !answer.ignoresConditions) {
      response.writeHead(304, { ...(tag !== null && { etag: tag }), ...headers }).end();
      return;
    }
    response.writeHead(status, { ...sent, "content-length": Buffer.byteLength(body) });
    if (request.method === "HEAD") {
      response.end();
      return;
    }
    if (status === 200 && path !== "/robots.txt") this.bodies.push(path);
    if (answer.cutAfterBytes === undefined || Buffer.byteLength(body) <= answer.cutAfterBytes) response.end(body);
    else response.write(Buffer.from(body).subarray(0, answer.cutAfterBytes), () => response.destroy());
  }
}

const ACCEPTED = new Set(["md", "txt", "pdf", "docx", "csv", "json", "xml", "html"]);
const DAY_SECONDS = 86_400;

/** May ask this machine, and takes no rests. */
export const CLIENT: WebClientOptions = {
  userAgent: "lockstep/test",
  allowPrivateNetworks: true,
  requestsPerHost: 8,
  hostDelayMs: 0,
  timeoutMs: 120_000,
  restMs: 0,
};

/** The visitor with its real parts, on a site of its own. */
export class VisitWorld {
  readonly site: PageSite;
  readonly client: WebClient;
  readonly registry: Registry;
  /** With a folder for the domain STORY. */
  readonly ledgers: Ledgers;
  readonly documents: WebDocuments;
  readonly visitor: PageVisitor;
  readonly parts: VisitorParts;
  readonly folder: string;

  private constructor(site: PageSite, folder: string, more: Partial<VisitorParts>, policy: Partial<CheckPolicy>) {
    this.site = site;
    this.folder = folder;
    const client = createWebClient(CLIENT);
    this.client = client;
    this.registry = openSqlRegistry({ folder });
    mkdirSync(join(folder, "crawler", "STORY", "04_web"), { recursive: true });
    this.ledgers = openTestLedgers(join(folder, "crawler"));
    this.documents = createWebDocuments({ folder: join(folder, "documents"), keepSnapshotsDays: 1 });
    const rules = { minWidth: 1, minHeight: 1, minArea: 1, minBytes: 1, maxAspect: 10, enableSvg: false };
    this.parts = {
      client,
      registry: this.registry,
      reader: createWebPageReader(),
      texts: createTextReader(createExtractor()),
      documents: this.documents,
      get images() {
        return createWebImages({ folder: join(folder, "images"), client, rules });
      },
      renderer: undefined,
      rules: USUAL_RULES,
      policy: {
        baseIntervalSeconds: DAY_SECONDS,
        maxIntervalSeconds: 14 * DAY_SECONDS,
        errorBackoffSeconds: 600,
        goneSpacingSeconds: 0,
        movedSpacingSeconds: 0,
        forceOnCanonicalChange: true,
        ...policy,
      },
      acceptedTypes: ACCEPTED,
      maxBytes: 2_000_000,
      ...more,
    };
    this.visitor = createPageVisitor(this.parts);
  }

  static async open(more: Partial<VisitorParts> = {}, policy: Partial<CheckPolicy> = {}): Promise<VisitWorld> {
    return new VisitWorld(await PageSite.start(), await mkdtemp(join(tmpdir(), "lockstep-visit-")), more, policy);
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.registry.close();
    await this.ledgers.close();
    await this.site.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  url(path: string): string {
    return this.site.origin + path;
  }

  visit(path: string, options: Partial<VisitOptions> = {}): Promise<Visit> {
    return this.visitor.visit(this.url(path), { force: false, signal: new AbortController().signal, ...options });
  }

  id(path: string): IngestItem["id"] {
    return identifyUrl(this.url(path), USUAL_RULES).id;
  }

  async item(path: string): Promise<IngestItem | undefined> {
    return (await this.registry.get(this.id(path)))?.item;
  }

  async text(item: IngestItem): Promise<string> {
    const bytes = await this.documents.get(item.id, item.content.contentHash);
    return Buffer.from(bytes ?? []).toString();
  }
}
