import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import type { App } from "../../src/app/app.ts";
import { type ComposePace, compose } from "../../src/app/compose.ts";
import { readConfig } from "../../src/app/config.ts";
import { crawlJob } from "../../src/app/jobs.ts";
import type { Pace } from "../../src/app/open-sharepoint.ts";
import { sandboxSettings, saveCertificate } from "../../src/cli/sandbox.ts";
import { CancelledError } from "../../src/contracts/errors.ts";
import { parseDomainId, parseSourceId } from "../../src/contracts/ids.ts";
import type { JobContext, JobRecord } from "../../src/contracts/job.ts";
import {
  type CrawlRequest,
  type CrawlResult,
  crawlRequest,
  type SourceResult,
} from "../../src/engine/crawl-request.ts";
import type { QuerySource } from "../../src/engine/query.ts";
import { decodeCsvRow } from "../../src/lib/csv.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { ofKind, parseDomain } from "../kinds.ts";

export const LIBRARY = "/sites/demo/Shared Documents";
export const DOMAIN = parseDomainId("STORY");
export const DOCS = { ...ofKind("file_sources"), sourceId: parseSourceId("docs") } as const;
export type MapName = "sharepoint_map" | "files_map" | "vectorstore_map";

export interface WorldOptions {
  readonly seed?: "company" | "empty";
  readonly settings?: Readonly<Record<string, string>>;
  /** Other fields of the one file source. */
  readonly source?: object;
  /** Other keys of `domain.json`: list_sources, sitepage_sources, further file_sources. */
  readonly domain?: object;
  /** How the connection to the tenant waits, instead of the product's own patience. */
  readonly pace?: ComposePace;
  /** An existing folder instead of a new one. */
  readonly storage?: string;
  /** Looks at the vector store where the backend is remote. */
  readonly storeClient?: OpenAI;
}

/** Retries without the waits: for stories in which the tenant misbehaves. */
export const BRISK: Pace = { retry: { attempts: 8, firstMs: 1, longestMs: 4 } };

/** A tenant, a storage folder and the product between them: what a story plays in. Everything real, over loopback. */
export class World {
  readonly sandbox: Sandbox;
  readonly storage: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly options: WorldOptions;
  app: App;

  private constructor(
    sandbox: Sandbox,
    storage: string,
    settings: Readonly<Record<string, string>>,
    options: WorldOptions,
    app: App,
  ) {
    this.sandbox = sandbox;
    this.storage = storage;
    this.settings = settings;
    this.options = options;
    this.app = app;
  }

  static async open(options: WorldOptions = {}): Promise<World> {
    const storage = options.storage ?? (await mkdtemp(join(tmpdir(), "lockstep-story-")));
    const sandbox = await startSandbox({ seed: options.seed ?? "empty" });
    const settings = {
      PERSISTENT_STORAGE_PATH: storage,
      ...sandboxSettings(sandbox, await saveCertificate(sandbox, join(storage, "sandbox.pem"))),
      ...options.settings,
    };
    const app = await compose(readConfig(settings), { searchesHere: true, ...options.pace });
    const world = new World(sandbox, storage, settings, options, app);
    const json = { ...world.domainJson(options.source), ...options.domain };
    await world.app.domains.create(parseDomain(json, DOMAIN));
    return world;
  }

  /** The same storage, opened anew, as after a restart. */
  async reopen(): Promise<void> {
    await this.app.close();
    this.app = await compose(readConfig(this.settings), { searchesHere: true, ...this.options.pace });
  }

  domainJson(source: object = {}): Record<string, unknown> {
    const docs = {
      source_id: "docs",
      site_url: this.sandbox.siteUrl,
      sharepoint_url_part: "/Shared Documents",
      filter: "",
    };
    return {
      name: "Story",
      description: "",
      vector_store_name: "story",
      vector_store_id: "",
      file_sources: [{ ...docs, ...source }],
    };
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.sandbox.stop();
    await rm(this.storage, { recursive: true, force: true });
  }

  /** Something a user does in SharePoint; paths are below the library unless they start with `/`. */
  async change(operation: string, fields: Record<string, unknown>): Promise<Record<string, unknown>> {
    const full = Object.fromEntries(
      Object.entries(fields).map(([key, value]) => {
        const isPath = (key === "path" || key === "to") && typeof value === "string" && !value.startsWith("/");
        return [key, isPath ? `${LIBRARY}/${value}` : value];
      }),
    );
    return await this.control("POST", operation, full);
  }

  async fault(match: object, effect: object): Promise<void> {
    await this.control("POST", "faults", { match, effect });
  }

  async control(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.sandbox.url}/_sandbox/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  }

  /** URLs asked of the tenant since the log was last cleared. */
  async requests(): Promise<string[]> {
    const log = (await this.control("GET", "log")) as { requests: { method: string; url: string }[] };
    return log.requests.map(({ url }) => decodeURIComponent(url)).filter((url) => !url.startsWith("/_sandbox"));
  }

  async crawl(
    options: Partial<CrawlRequest> & { dryRun?: boolean } = {},
  ): Promise<{ job: JobRecord; result: CrawlResult; source: SourceResult; log: string }> {
    const { dryRun = false, ...wishes } = options;
    const job = await this.#run(wishes, dryRun);
    const result = job.result?.data as CrawlResult;
    const [source] = result.sources ?? [];
    if (!source) throw new Error(`the crawl has no source: ${job.result?.error}`);
    return { job, result, source, log: await this.log(job) };
  }

  /** A crawl that may end before it has a result for any source. */
  async runToEnd(wishes: Partial<CrawlRequest> = {}): Promise<JobRecord> {
    return await this.#run(wishes, false);
  }

  /** A crawl that is cancelled as soon as a line of its log says so; it may also end by itself before. */
  async crawlUntil(stop: (line: string) => boolean, wishes: Partial<CrawlRequest> = {}): Promise<JobRecord> {
    return await this.#run(wishes, false, (job) => stoppable(job, stop));
  }

  /** A dry run; `look` is called whenever the job comes to a checkpoint. */
  async dryRunWatched(wishes: Partial<CrawlRequest>, look: () => Promise<void>): Promise<JobRecord> {
    return await this.#run(wishes, true, (job) => ({
      jobId: job.jobId,
      dryRun: job.dryRun,
      signal: job.signal,
      log: (line) => job.log(line),
      async checkpoint() {
        await look();
        await job.checkpoint();
      },
    }));
  }

  async #run(
    wishes: Partial<CrawlRequest>,
    dryRun: boolean,
    around: (job: JobContext) => JobContext = (job) => job,
  ): Promise<JobRecord> {
    const { start, work } = crawlJob(this.app, crawlRequest(DOMAIN, wishes), { dryRun });
    const running = await this.app.runner.start({ ...start, endpoint: "story" }, (job) => work(around(job)));
    return await running.done;
  }

  async log(job: JobRecord): Promise<string> {
    const chunks: Uint8Array[] = [];
    for await (const bytes of this.app.jobs.follow(job.jobId, { signal: new AbortController().signal }))
      chunks.push(bytes);
    return Buffer.concat(chunks).toString();
  }

  async search(text: string): Promise<readonly QuerySource[]> {
    return (await this.app.query({ text, limit: 10, domainId: DOMAIN, vectorStoreId: undefined })).sources;
  }

  /** Names of the documents that answer, best first, each once. */
  async found(text: string): Promise<string[]> {
    const hits = await this.search(text);
    const others = ({ details }: QuerySource): string[] => details?.alsoIn.map(({ name }) => name) ?? [];
    return [...new Set(hits.flatMap((hit) => [hit.name, ...others(hit)]))];
  }

  folder(...path: string[]): string {
    return join(this.storage, "crawler", DOMAIN, "01_files", "docs", ...path);
  }

  /** Paths below a folder of the mirror. */
  async disk(folder: "02_embedded" | "03_failed" = "02_embedded"): Promise<string[]> {
    const entries = await readdir(this.folder(folder), { recursive: true, withFileTypes: true }).catch(() => []);
    const root = this.folder(folder);
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
      .sort();
  }

  async map(name: MapName): Promise<Record<string, string>[]> {
    const [header = "", ...rows] = (await readFile(this.folder(`${name}.csv`), "utf8")).split("\r\n").filter(Boolean);
    const columns = decodeCsvRow(header);
    return rows.map((row) => Object.fromEntries(decodeCsvRow(row).map((field, i) => [columns[i] ?? "", field])));
  }

  async names(map: MapName): Promise<string[]> {
    return (await this.map(map)).map((row) => row["filename"] ?? "").sort();
  }

  openai(): OpenAI {
    if (this.options.storeClient) return this.options.storeClient;
    const { wire } = this.app;
    if (!wire) throw new Error("the backend is remote");
    return new OpenAI({
      apiKey: "any",
      baseURL: "http://lockstep/v1",
      fetch: async (url, init) => wire(new Request(url, init)),
      maxRetries: 0,
    });
  }

  async storeFileIds(): Promise<string[]> {
    const { vectorStoreId } = await this.app.domains.get(DOMAIN);
    const ids: string[] = [];
    for await (const file of this.openai().vectorStores.files.list(vectorStoreId, { limit: 100 })) ids.push(file.id);
    return ids.sort();
  }

  /** Ledger, disk, store and search of the same run agree with each other and with the tenant. */
  async contradictions(): Promise<string[]> {
    const tenant = (await this.control("GET", `state?library=${encodeURIComponent(LIBRARY)}`)) as {
      items: { kind: string; path: string; uniqueId: string }[];
    };
    const wrong: string[] = [];
    const [files, store, disk, held] = [
      await this.map("files_map"),
      await this.map("vectorstore_map"),
      [...(await this.disk()), ...(await this.disk("03_failed"))],
      await this.storeFileIds(),
    ];
    const expected = tenant.items
      .filter(({ kind, path }) => kind === "file" && /\.(txt|md|html|docx|pdf)$/.test(path))
      .map(({ uniqueId }) => uniqueId);
    const compare = (what: string, found: (string | undefined)[], wanted: string[]): void => {
      if (JSON.stringify([...found].sort()) !== JSON.stringify([...wanted].sort()))
        wrong.push(`${what}: ${found.join()} instead of ${wanted.join()}`);
    };
    compare(
      "files_map",
      files.map((row) => row["sharepoint_unique_file_id"]),
      expected,
    );
    compare(
      "vectorstore_map",
      store.map((row) => row["sharepoint_unique_file_id"]),
      expected,
    );
    compare(
      "disk",
      disk,
      files.map((row) => (row["file_relative_path"] ?? "").split("\\").slice(4).join("/")),
    );
    compare(
      "vector store",
      held,
      store.flatMap((row) => row["openai_file_id"] || []),
    );
    return wrong;
  }
}

function stoppable(job: JobContext, stop: (line: string) => boolean): JobContext {
  const stopped = new AbortController();
  return {
    jobId: job.jobId,
    dryRun: job.dryRun,
    signal: AbortSignal.any([job.signal, stopped.signal]),
    log(line) {
      job.log(line);
      if (stop(line)) stopped.abort();
    },
    async checkpoint() {
      if (stopped.signal.aborted) throw new CancelledError("the story stops here");
      await job.checkpoint();
    },
  };
}
