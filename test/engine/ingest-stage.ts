import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "../../src/app/app.ts";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import { type DomainId, type ItemId, parseDomainId } from "../../src/contracts/ids.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import type { IngestItem } from "../../src/contracts/registry.ts";
import { type CrawlRequest, crawlRequest } from "../../src/engine/crawl-request.ts";

export const INGEST = parseDomainId("INGEST");
const DAY_MS = 24 * 3600_000;

/** What a page of the test's web server answers. */
export interface Answer {
  readonly status?: number;
  /** A page with this text, unless `headers` say that it is something else. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly head?: string;
  /** Resolves when the answer may be sent. */
  readonly gate?: Promise<void>;
}

/** A web server on loopback whose pages are what the test says; it counts who asks for what at once. */
export class Pages {
  readonly answers = new Map<string, Answer>();
  readonly files = new Map<string, { readonly type: string; readonly bytes: Uint8Array }>();
  readonly bodies: string[] = [];
  readonly asked: string[] = [];
  readonly atOnce = new Map<string, number>();
  mostAtOnce = 0;
  beforeAnswer: (path: string, response: ServerResponse) => Promise<void> = async () => undefined;
  onRequest: (count: number, userAgent: string) => void = () => undefined;
  readonly #server: Server;
  #origin = "";

  constructor() {
    this.#server = createServer((request, response) => {
      const [path = ""] = (request.url ?? "").replace(/\/$/, "").split("?");
      if (path === "/robots.txt" && !this.answers.has(path)) return void response.writeHead(404).end();
      const before = this.atOnce.get(path) ?? 0;
      this.atOnce.set(path, before + 1);
      this.mostAtOnce = Math.max(this.mostAtOnce, before + 1);
      response.on("close", () => this.atOnce.set(path, (this.atOnce.get(path) ?? 1) - 1));
      this.asked.push(path);
      this.onRequest(this.asked.length, request.headers["user-agent"] ?? "");
      void this.beforeAnswer(path, response).then(() => this.#answer(path, request.headers["if-none-match"], response));
    });
  }

  async open(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    this.#origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  }

  url(path: string): string {
    return `${this.#origin}${path}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(path: string, known: string | undefined, response: ServerResponse): Promise<void> {
    const file = this.files.get(path);
    if (file) return void response.writeHead(200, { "content-type": file.type }).end(file.bytes);
    const answer = this.answers.get(path);
    if (!answer) return void response.writeHead(404).end();
    await answer.gate;
    const { status = 200, text = "", headers = {}, head = "" } = answer;
    const etag = `"${text}${head}"`;
    if (status === 200 && known === etag) return void response.writeHead(304, { etag }).end();
    if (status === 200) this.bodies.push(path);
    const page = `<!doctype html><html lang="en"><head><title>${path.slice(1)}</title>${head}</head><body><main><h1>${path.slice(1)}</h1><p>${text}</p></main></body></html>`;
    response.writeHead(status, { "content-type": "text/html; charset=utf-8", etag, ...headers }).end(page);
  }
}

/** The real product, a web server it may ask, and a clock that the test moves. */
export class IngestStage {
  readonly pages = new Pages();
  readonly storage: string;
  readonly settings: Readonly<Record<string, string>>;
  now = new Date();
  app!: App;

  private constructor(storage: string, settings: Readonly<Record<string, string>>) {
    this.storage = storage;
    this.settings = settings;
  }

  static async open(settings: Readonly<Record<string, string>> = {}): Promise<IngestStage> {
    const storage = await mkdtemp(join(tmpdir(), "lockstep-ingest-"));
    const stage = new IngestStage(storage, {
      PERSISTENT_STORAGE_PATH: storage,
      WEB_ALLOW_PRIVATE_NETWORKS: "true",
      WEB_HOST_DELAY_MS: "0",
      ...settings,
    });
    await stage.pages.open();
    await stage.reopen();
    return stage;
  }

  async reopen(): Promise<void> {
    await this.app?.close();
    this.app = await compose(readConfig(this.settings), {
      searchesHere: true,
      web: { now: () => this.now, restMs: 1 },
    });
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.pages.close();
    await rm(this.storage, { recursive: true, force: true });
  }

  later(days: number): void {
    this.now = new Date(this.now.getTime() + days * DAY_MS);
  }

  async add(
    path: string,
    wishes: { domainId?: DomainId; force?: boolean; includeImages?: boolean } = {},
  ): Promise<ItemId> {
    const usual = { title: "", domainId: undefined, force: false, includeImages: false };
    return (await this.app.ingest.add({ url: this.pages.url(path), ...usual, ...wishes })).id;
  }

  /** Everything that is queued. */
  async work(): Promise<number> {
    let count = 0;
    while (await this.app.ingest.workOne("test", new AbortController().signal)) count += 1;
    return count;
  }

  async sweep(): Promise<number> {
    return await this.app.ingest.sweep(new AbortController().signal);
  }

  /** As the timer, a worker and the index phase do, one after the other. Returns the crawls that were needed. */
  async round(): Promise<JobRecord[]> {
    await this.sweep();
    await this.work();
    const jobs: JobRecord[] = [];
    for (const { domainId, sourceId } of await this.app.ingest.behind()) {
      jobs.push(await this.crawl({ domainId, sourceId }));
    }
    return jobs;
  }

  async crawl(wishes: Partial<CrawlRequest> = {}, dryRun = false): Promise<JobRecord> {
    const request = crawlRequest(wishes.domainId ?? INGEST, { scope: "web", ...wishes });
    const { start, work } = crawlJob(this.app, request, { dryRun });
    return await (await this.app.runner.start({ ...start, endpoint: "test" }, work)).done;
  }

  async item(id: ItemId): Promise<IngestItem> {
    return (await this.app.ingest.item(id)).item;
  }

  /** To the second, of the first result. */
  async dateOf(word: string): Promise<string> {
    const { sources } = await this.app.query({ text: word, limit: 1, domainId: INGEST, vectorStoreId: undefined });
    return sources[0]?.modifiedAt.slice(0, 19) ?? "";
  }

  /** Paths of the pages that say this word. */
  async found(word: string, domainId: DomainId = INGEST): Promise<string[]> {
    const { sources } = await this.app.query({ text: word, limit: 10, domainId, vectorStoreId: undefined });
    const saying = sources.filter(({ text }) => text.includes(word));
    return [...new Set(saying.map(({ url }) => new URL(url).pathname))].sort();
  }
}
