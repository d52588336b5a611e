import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { App } from "../../../src/app/app.ts";
import { compose } from "../../../src/app/compose.ts";
import { readConfig } from "../../../src/app/config.ts";
import { crawlJob } from "../../../src/app/jobs.ts";
import { openBackend } from "../../../src/app/open-backend.ts";
import { REGISTERED_SOURCE } from "../../../src/contracts/domain.ts";
import { type DomainId, parseDomainId } from "../../../src/contracts/ids.ts";
import type { IndexedRef } from "../../../src/contracts/search-index.ts";
import { type CrawlRequest, type CrawlResult, crawlRequest } from "../../../src/engine/crawl-request.ts";
import type { QuerySource } from "../../../src/engine/query.ts";
import { createExtractor } from "../../../src/extract/extractor.ts";
import { createResponseLog } from "../../../src/inventory/response-log.ts";
import { storageFolder } from "../../../src/mirror/layout.ts";
import { openTestLedgers } from "../../ledger/open-test-ledgers.ts";
import { type Fixture, unpackFolder } from "./fixture.ts";
import { openPlace, type Place } from "./source-state.ts";
import { StoreService } from "./store-service.ts";

interface Opened {
  readonly app: App;
  readonly settings: Readonly<Record<string, string>>;
  readonly service: StoreService | undefined;
}

/** A copy of a fixture, opened by the product as it is now, with its source as it was. */
export class OpenFixture {
  readonly place: Place;
  readonly storage: string;
  readonly domainId: DomainId;
  readonly app: App;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #folder: string;
  readonly #service: StoreService | undefined;

  private constructor(place: Place, folder: string, domainId: DomainId, { app, settings, service }: Opened) {
    this.place = place;
    this.#folder = folder;
    this.storage = join(folder, "storage");
    this.domainId = domainId;
    this.app = app;
    this.#settings = settings;
    this.#service = service;
  }

  static async open(fixture: Omit<Fixture, "expect" | "about">): Promise<OpenFixture> {
    const place = await openPlace(fixture.source);
    const folder = await mkdtemp(join(tmpdir(), "lockstep-earlier-"));
    const storage = join(folder, "storage");
    await unpackFolder(fixture.storage, storage, place.replacements);
    const service = fixture.service && (await StoreService.open(fixture.service));
    const places = { ...place.settings, ...service?.settings, PERSISTENT_STORAGE_PATH: storage };
    const settings = { ...places, ...fixture.settings };
    const now = (): Date => new Date(fixture.now);
    const app = await compose(readConfig(settings), {
      ...{ now, searchesHere: true, web: { now, restMs: 1 } },
    });
    return new OpenFixture(place, folder, parseDomainId(fixture.domainId), { app, settings, service });
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.place.close();
    await this.#service?.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Of all sources; addresses that were registered one by one are looked at before, as far as they are due. */
  async crawl(
    wishes: Partial<CrawlRequest> = {},
    options = { dryRun: false },
  ): Promise<{ result: CrawlResult; error: string; log: string }> {
    const { signal } = new AbortController();
    const { sources } = await this.app.domains.get(this.domainId);
    if (sources.some(({ sourceId }) => sourceId === REGISTERED_SOURCE)) {
      await this.app.ingest.sweep(signal);
      let isAtWork = true;
      while (isAtWork) isAtWork = await this.app.ingest.workOne("test", signal);
    }
    const { start, work } = crawlJob(this.app, crawlRequest(this.domainId, wishes), options);
    const job = await (await this.app.runner.start({ ...start, endpoint: "test" }, work)).done;
    const pieces: Uint8Array[] = [];
    for await (const bytes of this.app.jobs.follow(job.jobId, { signal })) pieces.push(bytes);
    const log = Buffer.concat(pieces).toString();
    assert.ok(job.result?.data, log);
    return { result: job.result.data as CrawlResult, error: job.result.error, log };
  }

  /** Of the passages that have the very word. */
  async hits(word: string): Promise<readonly QuerySource[]> {
    const request = { text: word, limit: 20, domainId: this.domainId, vectorStoreId: undefined };
    const { sources } = await this.app.query(request);
    return sources.filter(({ text }) => new RegExp(`\\b${word}\\b`).test(text));
  }

  async found(word: string): Promise<string[]> {
    const names = (await this.hits(word)).flatMap(({ name, details }) => [
      name,
      ...(details?.alsoIn.map((other) => other.name) ?? []),
    ]);
    return [...new Set(names)].sort();
  }

  async storeIds(): Promise<string[]> {
    const ids: string[] = [];
    for await (const page of this.app.inventory.stores.pages({ order: "asc", pageSize: 100 }))
      ids.push(...page.map(({ id }) => id));
    return ids;
  }

  /** What the index shows, as another process sees it: the ids by path. A document that is there twice is an error. */
  async documents(marked = this.domainId): Promise<Record<string, string>> {
    const { vectorStoreId, sources } = await this.app.domains.get(this.domainId);
    const reader = await openBackend(readConfig(this.#settings), {
      indexFolder: storageFolder(this.storage, "index"),
      extractor: createExtractor(),
      responseLog: createResponseLog(storageFolder(this.storage, "inventory")),
      uploads: openTestLedgers(storageFolder(this.storage, "crawler")).uploads,
      searchesHere: true,
    });
    try {
      const index = vectorStoreId ? await reader.backend.openIndex(vectorStoreId, marked) : undefined;
      const refs: IndexedRef[] = [];
      for (const { sourceId } of sources) for await (const page of index?.holdings(sourceId) ?? []) refs.push(...page);
      const named = refs.map(({ path, itemId, fileId }) => [path ?? itemId, fileId as string] as const).sort();
      assert.equal(new Set(named.map(([path]) => path)).size, named.length, "each document once");
      return Object.fromEntries(named);
    } finally {
      await reader.close();
    }
  }
}
