import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "../../src/app/app.ts";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import {
  type CrawlRequest,
  type CrawlResult,
  crawlRequest,
  type SourceResult,
} from "../../src/engine/crawl-request.ts";
import { decodeCsvRow } from "../../src/lib/csv.ts";
import { type SandboxSite, type SiteOptions, startSite } from "../../src/sandbox/site/start-site.ts";
import type { SiteCount, WebSite } from "../../src/sandbox/site/web-site.ts";
import { parseDomain } from "../kinds.ts";
import { readMapText } from "../read-map-text.ts";

export const WEB_DOMAIN = parseDomainId("SITE");

export interface SiteWorldOptions extends SiteOptions {
  /** Other fields of the one web source. */
  readonly source?: object;
  readonly settings?: Readonly<Record<string, string>>;
  /** What time it is for the registry. */
  readonly now?: () => Date;
}

/** What the product has of a page. */
export interface KnownPage {
  readonly id: string;
  readonly path: string;
  /** The word of its document, "" where that is no text. */
  readonly word: string;
}

/** A simulated site, a storage folder, and the product between them. */
export class SiteWorld {
  readonly origin: string;
  readonly site: WebSite;
  readonly storage: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly app: App;
  readonly #server: SandboxSite;

  private constructor(server: SandboxSite, storage: string, settings: Readonly<Record<string, string>>, app: App) {
    this.#server = server;
    this.origin = server.origin;
    this.site = server.site;
    this.storage = storage;
    this.settings = settings;
    this.app = app;
  }

  static async open({ source, settings: wishes, now, ...options }: SiteWorldOptions): Promise<SiteWorld> {
    const server = await startSite(options);
    const storage = await mkdtemp(join(tmpdir(), "lockstep-site-"));
    const settings = {
      PERSISTENT_STORAGE_PATH: storage,
      WEB_ALLOW_PRIVATE_NETWORKS: "true",
      WEB_HOST_DELAY_MS: "0",
      CRAWL_GONE_SPACING_SECONDS: "0",
      CRAWL_MOVED_SPACING_SECONDS: "0",
      WEB_REQUESTS_PER_HOST: "16",
      ...wishes,
    };
    const app = await compose(readConfig(settings), { searchesHere: true, web: { restMs: 1, ...(now && { now }) } });
    const json = {
      name: "Site",
      description: "",
      vector_store_name: "site",
      vector_store_id: "",
      web_sources: [{ source_id: "site", start_urls: [`${server.origin}/`], ...source }],
    };
    await app.domains.create(parseDomain(json, WEB_DOMAIN));
    return new SiteWorld(server, storage, settings, app);
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.#server.close();
    await rm(this.storage, { recursive: true, force: true });
  }

  async crawl(wishes: Partial<CrawlRequest> = {}): Promise<{ error: string; source: SourceResult; log: string }> {
    const { start, work } = crawlJob(this.app, crawlRequest(WEB_DOMAIN, wishes), { dryRun: false });
    const job = await (await this.app.runner.start({ ...start, endpoint: "test" }, work)).done;
    const source = (job.result?.data as CrawlResult | undefined)?.sources?.[0];
    if (!source) throw new Error(`the crawl has no source: ${job.result?.error}`);
    const chunks: Uint8Array[] = [];
    for await (const bytes of this.app.jobs.follow(job.jobId, { signal: new AbortController().signal }))
      chunks.push(bytes);
    return { error: job.result?.error ?? "", source, log: Buffer.concat(chunks).toString() };
  }

  /** What the map of the vector store has, with the word that the file in the mirror has. */
  async known(): Promise<KnownPage[]> {
    const addresses = new Map(
      (await this.#map("sharepoint_map")).map((row) => [row["sharepoint_unique_file_id"], row["url"]]),
    );
    return await Promise.all(
      (await this.#map("vectorstore_map")).map(async (row) => {
        const file = join(this.storage, "crawler", ...(row["file_relative_path"] ?? "").split("\\"));
        const word = /part number is (\w+)/.exec(await readFile(file, "utf8"))?.[1] ?? "";
        const id = row["sharepoint_unique_file_id"] ?? "";
        return { id, path: plain(addresses.get(id)?.slice(this.origin.length) ?? ""), word };
      }),
    );
  }

  async #map(name: string): Promise<Record<string, string>[]> {
    const text = await readMapText(this.app, WEB_DOMAIN, "site", `${name}.csv`);
    const [header = "", ...rows] = text.split("\r\n").filter(Boolean);
    const columns = decodeCsvRow(header);
    return rows.map((row) => Object.fromEntries(decodeCsvRow(row).map((field, i) => [columns[i] ?? "", field])));
  }

  /** `path word` of every page the product should have: documents that are no text have their word only in the index. */
  expected({ without = "/calendar/" }: { readonly without?: string } = {}): string[] {
    return [...this.site.reachable()]
      .filter(({ path }) => !path.startsWith(without))
      .map(({ path, word }) => `${decodeURI(path)} ${path.endsWith(".docx") ? "" : word}`)
      .sort();
  }

  /** The same of those it has. */
  async held(): Promise<string[]> {
    return (await this.known()).map(({ path, word }) => `${path} ${word}`).sort();
  }

  /** Paths of the documents that have the very word. */
  async found(word: string): Promise<string[]> {
    const { sources } = await this.app.query({ text: word, limit: 10, domainId: WEB_DOMAIN, vectorStoreId: undefined });
    const hits = sources.filter(({ text }) => new RegExp(`\\b${word}\\b`).test(text));
    return [...new Set(hits.map(({ url }) => plain(url.slice(this.origin.length))))].sort();
  }

  /** How many bodies the site sent since the counts were cleared, by path, whatever the spelling. */
  bodies(): Map<string, number> {
    const sent = new Map<string, number>();
    for (const [path, { bodies }] of this.site.counts()) sent.set(plain(path), (sent.get(plain(path)) ?? 0) + bodies);
    return sent;
  }

  /** Paths of which it sent one. */
  downloads(): string[] {
    return [...this.bodies()].flatMap(([path, bodies]) => (bodies > 0 ? path : [])).sort();
  }

  countOf(path: string): Readonly<SiteCount> | undefined {
    return this.site.counts().get(path);
  }
}

/** Pages are asked for as they were found: with trackers, a slash at the end, or escapes in small letters. */
function plain(address: string): string {
  return decodeURI(address.replace(/\?utm_.*/, "").replace(/(?<=[^/])\/(?=$|\?)/, ""));
}
