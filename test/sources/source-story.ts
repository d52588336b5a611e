import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { App } from "../../src/app/app.ts";
import { compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import type { SourceConfig } from "../../src/contracts/domain.ts";
import { type DomainId, parseDomainId } from "../../src/contracts/ids.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import { type CrawlResult, crawlRequest, type SourceResult } from "../../src/engine/crawl-request.ts";
import { sourceFolder, storageFolder } from "../../src/mirror/layout.ts";
import { entriesOf } from "../ledger/manifest-place.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";

export interface Crawled {
  readonly error: string;
  readonly source: SourceResult | undefined;
  readonly log: string;
}

interface StoryOptions {
  readonly domain: string;
  readonly scope: string;
  readonly storage: string;
  readonly source: SourceConfig;
  readonly settings?: Readonly<Record<string, string>>;
}

/** One source of a domain, crawled and searched through the whole product. */
export class SourceStory {
  readonly app: App;
  readonly domainId: DomainId;
  readonly storage: string;
  readonly #scope: string;
  readonly #source: SourceConfig;

  private constructor(app: App, { domain, scope, storage, source }: StoryOptions) {
    this.app = app;
    this.domainId = parseDomainId(domain);
    this.storage = storage;
    this.#scope = scope;
    this.#source = source;
  }

  static async open(options: StoryOptions): Promise<SourceStory> {
    const app = await compose(readConfig({ PERSISTENT_STORAGE_PATH: options.storage, ...options.settings }));
    const story = new SourceStory(app, options);
    const texts = { name: options.domain, description: "", vectorStoreName: "", schedule: "" };
    await app.domains.create({ domainId: story.domainId, ...texts, vectorStoreId: "", sources: [options.source] });
    return story;
  }

  async tryCrawl(options = { dryRun: false }): Promise<Crawled> {
    const { start, work } = crawlJob(this.app, crawlRequest(this.domainId, { scope: this.#scope }), options);
    const job = await (await this.app.runner.start({ ...start, endpoint: "test" }, work)).done;
    const events: Uint8Array[] = [];
    const { signal } = new AbortController();
    for await (const bytes of this.app.jobs.follow(job.jobId, { signal })) events.push(bytes);
    const source = (job.result?.data as CrawlResult | undefined)?.sources?.[0];
    return { error: job.result?.error ?? "", source, log: Buffer.concat(events).toString() };
  }

  async crawl(): Promise<Crawled> {
    const crawled = await this.tryCrawl();
    assert.equal(crawled.error, "", crawled.log);
    return crawled;
  }

  /** Addresses of the passages that have the word. */
  async found(word: string): Promise<string[]> {
    const query = { text: word, limit: 50, domainId: this.domainId, vectorStoreId: undefined };
    const { sources } = await this.app.query(query);
    return sources
      .filter(({ text }) => text.includes(word))
      .map(({ url }) => url)
      .sort();
  }

  async explained(document: string, query: string): Promise<string> {
    const { documents } = await this.app.explainDocument({ domainId: this.domainId, query, document });
    return documents[0]?.stages[0]?.detail ?? "";
  }

  get folder(): string {
    return join(storageFolder(this.storage, "crawler"), sourceFolder(this.domainId, this.#source));
  }

  async entries(): Promise<Map<string, ManifestEntry>> {
    const ledgers = openTestLedgers(storageFolder(this.storage, "crawler"));
    const { manifest } = await ledgers.open({ domainId: this.domainId, config: this.#source }, { readOnly: true });
    const all = new Map((await entriesOf(manifest)).map((entry) => [entry.path, entry]));
    await ledgers.close();
    return all;
  }

  /** Not a byte of a secret is anywhere in the storage. */
  async assertNoSecrets(secrets: readonly string[]): Promise<void> {
    for (const file of await filesBelow(this.storage)) {
      const bytes = await readFile(file);
      for (const secret of secrets)
        assert.ok(!bytes.includes(secret), `${relative(this.storage, file)} holds a secret`);
    }
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}
