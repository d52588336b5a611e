import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import type { CrawlRequest } from "../../src/engine/crawl-request.ts";
import { type FaultProxy, startFaultProxy } from "../backends/openai-fault-proxy.ts";
import { startWireService } from "../backends/openai-wire-service.ts";
import { DOMAIN, World, type WorldOptions } from "../engine/world.ts";
import { assertInStep, type Expected } from "./in-step.ts";
import { libraryView, type Row, type SourceView } from "./source-view.ts";

export type Crawled = Awaited<ReturnType<World["crawl"]>>;

/** A world, and how stories speak of it. */
export interface Stage {
  readonly world: World;
  /** The one library most stories play in. */
  readonly docs: SourceView;
  /** Between the product and a remote vector store; stories without one must not ask for it. */
  readonly proxy: FaultProxy;
  /** Something a user does in SharePoint; paths are below the library unless they start with `/`. */
  change: World["change"];
  /** A crawl that must go well. */
  crawl(wishes?: Partial<CrawlRequest>): Promise<Crawled>;
  /** A crawl of which the story says itself how it ends. */
  tryCrawl(wishes?: Partial<CrawlRequest>): Promise<Crawled>;
  /** Three documents, crawled: `Travel/policy.txt` (zebra), `Travel/old.md` (quagga), `handbook.html` (okapi). */
  plant(): Promise<void>;
  /** Tenant, disk, maps, metadata, store and search say the same. */
  inStep(expected?: Expected): Promise<void>;
  /** Items the tenant really delivered since the last `forgetDownloads`, by name of the request. */
  downloads(): Promise<number>;
  forgetDownloads(): Promise<void>;
  /** `openai_file_id` by path, as `vectorstore_map.csv` has them. */
  fileIds(): Promise<Record<string, string>>;
  metadata(): Promise<Record<string, unknown>[]>;
  /** One request in five fails from now on, in ways chosen by the seed. */
  disturb(seed: number): Promise<void>;
  close(): Promise<void>;
}

export async function openStage(options: WorldOptions, backend?: "remote"): Promise<Stage> {
  const remote = backend && (await openRemoteStore());
  const world = await World.open({ ...options, ...remote?.options });
  const docs = libraryView(world);
  let patience: Partial<CrawlRequest> = {};
  const stage: Stage = {
    world,
    docs,
    get proxy() {
      return remote?.proxy ?? assert.fail("the story has no remote store");
    },
    change: (operation, fields) => world.change(operation, fields),
    async crawl(wishes = {}) {
      const crawled = await stage.tryCrawl(wishes);
      assert.equal(crawled.job.result?.error, "", crawled.log);
      return crawled;
    },
    async tryCrawl(wishes = {}) {
      const crawled = await world.crawl({ ...patience, ...wishes });
      return { ...crawled, log: linesOf(crawled.log) };
    },
    async plant() {
      await stage.change("add", { path: "Travel/policy.txt", text: "A hotel night is approved by the zebra desk." });
      await stage.change("add", { path: "Travel/old.md", text: "# Retired\n\nThe quagga rule was abolished in 2019." });
      const page = "<h1>Handbook</h1><p>The okapi team answers questions about pay.</p>";
      await stage.change("add", { path: "handbook.html", text: page });
      await stage.crawl();
      await stage.forgetDownloads();
    },
    async inStep(expected = {}) {
      await assertInStep(world, docs, expected);
      if (!expected.foreign) assert.deepEqual(await world.contradictions(), []);
    },
    async downloads() {
      const { requests } = (await world.control("GET", "log")) as {
        requests: { url: string; status: number; fault: number | null }[];
      };
      return requests.filter(({ url, status, fault }) => /\$value/.test(url) && status < 300 && fault === null).length;
    },
    async forgetDownloads() {
      await world.control("DELETE", "log");
    },
    async fileIds() {
      const place = (row: Row): string => (row["file_relative_path"] ?? "").split("\\").slice(4).join("/");
      const rows = await docs.map("vectorstore_map");
      return Object.fromEntries(rows.map((row) => [place(row), row["openai_file_id"] ?? ""]));
    },
    async metadata() {
      const path = join(world.storage, "domains", DOMAIN, "files_metadata.json");
      return JSON.parse(await readFile(path, "utf8").catch(() => "[]")) as Record<string, unknown>[];
    },
    async disturb(seed) {
      // A body may be cut in one batch after the other, and stories say what a crawl leaves that had its chances.
      patience = { retryBatches: 5 };
      await disturb(world, seed);
    },
    async close() {
      await world.close();
      await remote?.close();
    },
  };
  return stage;
}

/** What the job said, without the form of its events. */
function linesOf(events: string): string {
  const lines = events.split("\n\n").filter((event) => event.startsWith("event: log"));
  return lines.map((event) => event.replace(/^[\s\S]*?data: /, "")).join("\n");
}

/** Faults that pass: throttled without a word, broken, cut in the middle, hung up. Each strikes its share of the requests. */
async function disturb(world: World, seed: number): Promise<void> {
  const effects = [
    { status: 503, headers: { "Retry-After": "0" }, body: "" },
    { status: 502, body: "<html>Bad Gateway</html>" },
    { connection: "reset" },
    { truncateAfterBytes: 7, ending: "reset" },
  ];
  for (const [i, effect] of effects.entries()) {
    await world.fault({ url: "/_api/", share: 0.05, seed: seed * 10 + i, times: "always" }, effect);
  }
}

async function openRemoteStore() {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-store-"));
  const service = await startWireService(folder);
  const proxy = await startFaultProxy(service.url);
  const settings = {
    OPENAI_SERVICE_TYPE: "openai",
    OPENAI_API_KEY: "key-of-a-story",
    OPENAI_BASE_URL: `${proxy.url}/v1`,
  };
  const storeClient = new OpenAI({ apiKey: "any", baseURL: `${service.url}/v1`, maxRetries: 0 });
  return {
    proxy,
    options: { settings, storeClient },
    async close() {
      await proxy.close();
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
