import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "../../src/app/app.ts";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import type { IngestItem } from "../../src/contracts/registry.ts";
import {
  type CrawlRequest,
  type CrawlResult,
  crawlRequest,
  type SourceResult,
} from "../../src/engine/crawl-request.ts";
import { decodeCsvRow } from "../../src/lib/csv.ts";
import { identifyUrl, USUAL_RULES } from "../../src/plan/web/item-identity.ts";
import { parseDomain } from "../kinds.ts";
import { readMapText } from "../read-map-text.ts";
import { PageSite } from "../sources/web-visit-world.ts";

export const DOMAIN = parseDomainId("WEB");

/** A web site page by page, and the whole product that crawls it. */
export class WebStory {
  readonly site: PageSite;
  readonly storage: string;
  readonly settings: Readonly<Record<string, string>>;
  app: App;
  readonly #clock: { now: Date } | undefined;

  private constructor(
    site: PageSite,
    storage: string,
    settings: Readonly<Record<string, string>>,
    app: App,
    clock: { now: Date } | undefined,
  ) {
    this.site = site;
    this.storage = storage;
    this.settings = settings;
    this.app = app;
    this.#clock = clock;
  }

  /** By a clock of its own, checks count when they are as far apart as is usual. */
  static openSpaced(settings: Readonly<Record<string, string>> = {}): Promise<WebStory> {
    return WebStory.#open({}, settings, { now: new Date("2026-01-01T00:00:00Z") });
  }

  static open(source: object = {}, settings: Readonly<Record<string, string>> = {}): Promise<WebStory> {
    const spacing = { CRAWL_GONE_SPACING_SECONDS: "0", CRAWL_MOVED_SPACING_SECONDS: "0" };
    return WebStory.#open(source, { ...spacing, ...settings }, undefined);
  }

  static async #open(
    source: object,
    more: Readonly<Record<string, string>>,
    clock: { now: Date } | undefined,
  ): Promise<WebStory> {
    const site = await PageSite.start();
    const storage = await mkdtemp(join(tmpdir(), "lockstep-web-"));
    const settings = {
      PERSISTENT_STORAGE_PATH: storage,
      WEB_ALLOW_PRIVATE_NETWORKS: "true",
      WEB_HOST_DELAY_MS: "0",
      ...more,
    };
    const app = await openApp(settings, clock);
    const web = { source_id: "site", start_urls: [`${site.origin}/`], ...source };
    const json = { name: "Web", description: "", vector_store_name: "web", vector_store_id: "", web_sources: [web] };
    await app.domains.create(parseDomain(json, DOMAIN));
    return new WebStory(site, storage, settings, app, clock);
  }

  /** As after a restart: hosts are asked for their robots.txt anew. */
  async reopen(): Promise<void> {
    await this.app.close();
    this.app = await openApp(this.settings, this.#clock);
  }

  later(minutes: number): void {
    if (this.#clock) this.#clock.now = new Date(this.#clock.now.getTime() + minutes * 60_000);
  }

  /** What the registry knows of an address. */
  async item(path: string): Promise<IngestItem> {
    const { id } = identifyUrl(this.site.origin + path, USUAL_RULES);
    return (await this.app.ingest.item(id)).item;
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.site.close();
    await rm(this.storage, { recursive: true, force: true });
  }

  async crawl(
    wishes: Partial<CrawlRequest> & { dryRun?: boolean } = {},
  ): Promise<{ error: string; source: SourceResult; log: string }> {
    const { dryRun = false, ...request } = wishes;
    const { start, work } = crawlJob(this.app, crawlRequest(DOMAIN, { scope: "web", ...request }), { dryRun });
    const job = await (await this.app.runner.start({ ...start, endpoint: "test" }, work)).done;
    const [source] = (job.result?.data as CrawlResult | undefined)?.sources ?? [];
    if (!source) throw new Error(`the crawl has no source: ${job.result?.error}`);
    const chunks: Uint8Array[] = [];
    for await (const bytes of this.app.jobs.follow(job.jobId, { signal: new AbortController().signal }))
      chunks.push(bytes);
    return { error: job.result?.error ?? "", source, log: Buffer.concat(chunks).toString() };
  }

  /** Paths of the pages that answer with the very word. */
  async found(word: string): Promise<string[]> {
    const { sources } = await this.app.query({ text: word, limit: 20, domainId: DOMAIN, vectorStoreId: undefined });
    const hits = sources.filter(({ text }) => new RegExp(`\\b${word}\\b`).test(text));
    return [...new Set(hits.map(({ url }) => url.slice(this.site.origin.length)))].sort();
  }

  /** Path to id of what the vector store's map has. */
  async indexed(): Promise<Record<string, string>> {
    const seen = new Map(
      (await this.#map("sharepoint_map")).map((row) => [row["sharepoint_unique_file_id"], row["url"]]),
    );
    const rows = await this.#map("vectorstore_map");
    const ids = rows.map((row) => row["sharepoint_unique_file_id"] ?? "");
    return Object.fromEntries(ids.map((id) => [(seen.get(id) ?? id).slice(this.site.origin.length), id]).sort());
  }

  /** Files of the mirror, below the folder of the host. */
  async disk(): Promise<string[]> {
    const root = this.folder("02_embedded");
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => []);
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return files.map((file) => file.slice(root.length + 1).replace(/^[^/]*\//, "")).sort();
  }

  folder(...path: string[]): string {
    return join(this.storage, "crawler", DOMAIN, "04_web", "site", ...path);
  }

  async #map(name: string): Promise<Record<string, string>[]> {
    const text = await readMapText(this.app, DOMAIN, "site", `${name}.csv`);
    const [header = "", ...rows] = text.split("\r\n").filter(Boolean);
    const columns = decodeCsvRow(header);
    return rows.map((row) => Object.fromEntries(decodeCsvRow(row).map((field, i) => [columns[i] ?? "", field])));
  }
}

function openApp(settings: Readonly<Record<string, string>>, clock: { now: Date } | undefined): Promise<App> {
  const web = { restMs: 0, ...(clock && { now: () => clock.now }) };
  return compose(readConfig(settings), { searchesHere: true, web });
}
