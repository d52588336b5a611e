import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { App } from "../../src/app/app.ts";
import { type ComposePace, compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { crawlJob, maintenanceJob } from "../../src/app/jobs.ts";
import { type OpenedBackend, openBackend } from "../../src/app/open-backend.ts";
import { DEFAULT_LIMITS } from "../../src/contracts/domain.ts";
import { type ItemId, parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import type { Index, IndexedRef } from "../../src/contracts/search-index.ts";
import {
  type CrawlRequest,
  type CrawlResult,
  crawlRequest,
  type SourceResult,
} from "../../src/engine/crawl-request.ts";
import type { MaintenanceRequest } from "../../src/engine/maintain/maintain.ts";
import type { MaintenanceResult } from "../../src/engine/maintain/maintenance-result.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { createResponseLog } from "../../src/inventory/response-log.ts";
import { sourceFolder, storageFolder } from "../../src/mirror/layout.ts";
import type { FolderSourceConfig } from "../../src/sources/folder/folder-source-codec.ts";
import { writeDocument } from "../index/index-fixture.ts";
import { ofKind } from "../kinds.ts";
import { entriesOf } from "../ledger/manifest-place.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";

export const FOLDERS = parseDomainId("FOLDERS");
export const DOCS = parseSourceId("docs");
const HOUR_MS = 3600_000;
const never = new AbortController().signal;

export interface FolderStageOptions {
  /** Settings of the product, as in `.env`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** What is different about the source. */
  readonly source?: Partial<FolderSourceConfig>;
  readonly pace?: ComposePace;
  /** Below it root and storage lie; a temporary one unless given. Given, it is left there at the end. */
  readonly place?: string;
}

export interface Maintained {
  readonly job: JobRecord;
  readonly result: MaintenanceResult;
  readonly log: string;
}

export interface FolderCrawl {
  readonly job: JobRecord;
  readonly result: CrawlResult;
  readonly source: SourceResult;
  readonly log: string;
}

/** The real product, a folder it looks after as the source `docs` of the domain `FOLDERS`, and a clock that the test moves. */
export class FolderStage {
  readonly root: string;
  readonly storage: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly config: FolderSourceConfig;
  /** What the product takes for the time, wherever grace and retention go by it. */
  now = new Date();
  app!: App;
  readonly #place: string;
  readonly #options: FolderStageOptions;
  #reader: OpenedBackend | undefined;

  private constructor(place: string, options: FolderStageOptions) {
    this.#place = place;
    this.#options = options;
    this.root = join(place, "root");
    this.storage = options.settings?.["PERSISTENT_STORAGE_PATH"] ?? join(place, "storage");
    this.settings = { PERSISTENT_STORAGE_PATH: this.storage, ...options.settings };
    this.config = {
      ...ofKind("folder_sources"),
      sourceId: DOCS,
      root: this.root,
      include: [],
      exclude: [],
      gitignore: false,
      hidden: false,
      maxFileBytes: 100 * 1024 * 1024,
      limits: DEFAULT_LIMITS,
      ...options.source,
    };
  }

  static async open(options: FolderStageOptions = {}): Promise<FolderStage> {
    const place = options.place ?? (await mkdtemp(join(tmpdir(), "lockstep-folder-")));
    const stage = new FolderStage(place, options);
    await mkdir(stage.root, { recursive: true });
    await stage.reopen();
    const { domains } = await stage.app.domains.list();
    if (!domains.some(({ domainId }) => domainId === FOLDERS)) {
      const texts = { name: "Folders", description: "", vectorStoreName: "", schedule: "" };
      await stage.app.domains.create({ domainId: FOLDERS, ...texts, vectorStoreId: "", sources: [stage.config] });
    }
    return stage;
  }

  /** As after a restart. */
  async reopen(): Promise<void> {
    await this.app?.close();
    this.app = await compose(readConfig(this.settings), {
      searchesHere: true,
      now: () => this.now,
      ...this.#options.pace,
    });
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.#reader?.close();
    if (!this.#options.place) await rm(this.#place, { recursive: true, force: true });
  }

  later(hours: number): void {
    this.now = new Date(this.now.getTime() + hours * HOUR_MS);
  }

  /** Crawls and days go by until no generation of now is kept any more. */
  async expireGenerations(): Promise<void> {
    for (let crawl = 0; crawl < 5; crawl++) {
      this.later(25);
      await this.write("clock.md", `The clock says ${this.now.toISOString()}.`);
      await this.crawl();
    }
  }

  /** The same without a crawl of the source: other sources change. */
  async pushOutGenerations(): Promise<void> {
    for (let commit = 0; commit < 6; commit++) {
      this.later(5);
      await this.index(async (index) => {
        const draft = await index.draft(parseSourceId("passing"));
        const item = "passing" as ItemId;
        if (commit % 2 === 0) await draft.put(await writeDocument(this.storage, item, `The ${commit} passes.`), never);
        else await draft.remove(item);
        await draft.commit(never, { allowEmpty: true });
      });
    }
    this.later(25);
  }

  /** Absolute, of a path below the root. */
  at(path: string): string {
    return join(this.root, path);
  }

  /** The folder of the source, absolute. */
  get folder(): string {
    return join(storageFolder(this.storage, "crawler"), sourceFolder(FOLDERS, this.config));
  }

  /** In place: the file stays the same one, and so does its inode. */
  async write(path: string, text: string | Uint8Array): Promise<void> {
    await mkdir(dirname(this.at(path)), { recursive: true });
    await writeFile(this.at(path), text);
  }

  /** As editors save: the new content takes the place of the old one. */
  async replace(path: string, text: string | Uint8Array): Promise<void> {
    const aside = `${this.at(path)}.swp~`;
    await writeFile(aside, text);
    await rename(aside, this.at(path));
  }

  /** A file, or a folder with all that is in it. */
  async rename(from: string, to: string): Promise<void> {
    await mkdir(dirname(this.at(to)), { recursive: true });
    await rename(this.at(from), this.at(to));
  }

  async remove(path: string): Promise<void> {
    await rm(this.at(path), { recursive: true });
  }

  /** A crawl that must go well. */
  async crawl(wishes: Partial<CrawlRequest> = {}): Promise<FolderCrawl> {
    const crawled = await this.tryCrawl(wishes);
    assert.equal(crawled.job.result?.error, "", crawled.log);
    return crawled;
  }

  /** A crawl of which the test says itself how it ends. */
  async tryCrawl(wishes: Partial<CrawlRequest> = {}, options = { dryRun: false }): Promise<FolderCrawl> {
    const request = crawlRequest(FOLDERS, { scope: "folders", ...wishes });
    const { start, work } = crawlJob(this.app, request, options);
    const job = await (await this.app.runner.start({ ...start, endpoint: "test" }, work)).done;
    const result = job.result?.data as CrawlResult;
    const source = result?.sources?.find(({ source_id }) => source_id === DOCS) as SourceResult;
    return { job, result, source, log: await this.log(job) };
  }

  /** Maintenance of all domains, unless something else is wished for. */
  async maintain(wishes: Partial<MaintenanceRequest> = {}, options = { dryRun: false }): Promise<Maintained> {
    const request = { domainId: undefined, unreferenced: false, confirmDeletes: false, ...wishes };
    const { start, work } = await maintenanceJob(this.app, request, options);
    const job = await (await this.app.runner.start({ ...start, endpoint: "test" }, work)).done;
    return { job, result: job.result?.data as MaintenanceResult, log: await this.log(job) };
  }

  async log({ jobId }: JobRecord): Promise<string> {
    const pieces: Uint8Array[] = [];
    for await (const bytes of this.app.jobs.follow(jobId, { signal: new AbortController().signal })) pieces.push(bytes);
    return Buffer.concat(pieces).toString();
  }

  /** Paths of the documents that say this word, as search finds them; of equal ones each. */
  async found(word: string): Promise<string[]> {
    const { sources } = await this.app.query({ text: word, limit: 50, domainId: FOLDERS, vectorStoreId: undefined });
    const saying = sources.filter(({ text }) => text.includes(word));
    const twins = new Set(saying.flatMap(({ details }) => details?.alsoIn.map(({ fileId }) => fileId) ?? []));
    const paths = new Set(saying.map(({ details }) => details?.path ?? assert.fail("a hit without its path")));
    if (twins.size > 0) {
      for (const { fileId, path } of await this.holdings()) if (twins.has(fileId)) paths.add(path ?? "");
    }
    return [...paths].sort();
  }

  /** What the index shows of the source now. */
  async holdings(): Promise<IndexedRef[]> {
    return await this.index(async (index) => {
      const all: IndexedRef[] = [];
      for await (const page of index.holdings(DOCS)) all.push(...page);
      return all;
    });
  }

  /** The index as another process would open it. */
  async index<T>(work: (index: Index) => Promise<T>): Promise<T> {
    const { vectorStoreId } = await this.app.domains.get(FOLDERS);
    assert.ok(vectorStoreId, "the domain has no vector store yet");
    this.#reader ??= await openBackend(readConfig(this.settings), {
      indexFolder: storageFolder(this.storage, "index"),
      extractor: createExtractor(),
      responseLog: createResponseLog(storageFolder(this.storage, "inventory")),
      uploads: openTestLedgers(storageFolder(this.storage, "crawler")).uploads,
      searchesHere: true,
      now: () => this.now,
    });
    const index = await this.#reader.backend.openIndex(vectorStoreId, FOLDERS);
    return await work(index ?? assert.fail("the vector store does not exist"));
  }

  /** The ledgers as another process would open them. */
  async withLedgers<T>(work: (ledgers: Ledgers) => Promise<T>): Promise<T> {
    const url = this.settings["DATABASE_URL"];
    const ledgers = openTestLedgers(storageFolder(this.storage, "crawler"), url === undefined ? undefined : { url });
    try {
      return await work(ledgers);
    } finally {
      await ledgers.close();
    }
  }

  /** What a disk that was lost, or somebody who deleted it, leaves of the ledger. */
  async loseLedger(): Promise<void> {
    await this.app.close();
    const path = join(storageFolder(this.storage, "crawler"), FOLDERS, "ledger.sqlite");
    for (const name of ["", "-wal", "-shm"]) await rm(`${path}${name}`, { force: true });
    await this.reopen();
  }

  /** Every entry, sorted by path. */
  async manifest(): Promise<ManifestEntry[]> {
    return await this.withLedgers(async (ledgers) => {
      const { manifest } = await ledgers.open({ domainId: FOLDERS, config: this.config }, { readOnly: true });
      return (await entriesOf(manifest)).sort((a, b) => (a.path < b.path ? -1 : Number(a.path > b.path)));
    });
  }

  /** The entry that has this path now. */
  async document(path: string): Promise<ManifestEntry> {
    const entry = (await this.manifest()).find((one) => one.path === path && one.status !== "deleted");
    return entry ?? assert.fail(`the manifest has no '${path}'`);
  }

  /** What the knowledge base holds of a document; undefined when there is nothing. */
  async kept(docId: ItemId): Promise<{ readonly text: string; readonly versions: readonly string[] } | undefined> {
    const folder = join(this.folder, "knowledge_base", "documents", docId);
    if (!(await readdir(folder).catch(() => undefined))) return undefined;
    const versions = await readdir(join(folder, "versions")).catch(() => []);
    return { text: await readFile(join(folder, "content.md"), "utf8"), versions: versions.sort() };
  }

  /** Files below a folder of the source (`02_embedded`, `.staging`), sorted, with `/`. */
  async below(folder: string): Promise<string[]> {
    const top = join(this.folder, folder);
    const entries = await readdir(top, { recursive: true, withFileTypes: true }).catch(() => []);
    const files = entries.filter((entry) => !entry.isDirectory());
    return files.map(({ parentPath, name }) => join(parentPath, name).slice(top.length + 1)).sort();
  }
}
