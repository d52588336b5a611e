import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { runChild, show } from "./measure.ts";
import { type RunningTenant, startTenant } from "./tenant.ts";

const FILES = Number(process.env["BENCH_HTTP_FILES"] ?? 4000);
const BYTES = 1000;
const WATCHERS = Number(process.env["BENCH_WATCHERS"] ?? 300);
const QUERIES = Number(process.env["BENCH_QUERIES"] ?? 100);
const IDLE_MS = 8000;
const EVERY_MS = 10;
const LIBRARY = "/sites/demo/Shared Documents";

/**
 * How long GET /health takes while a crawl runs, hundreds watch it and many search, beside the same server when idle. All
 * sides are processes of their own; they share the machine, so a machine with few cores shows more than the server adds.
 * How much of it is the server's own is in the turns: see http-turns.ts.
 */
export async function httpBench(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
  const tenant = await startTenant(join(folder, "sandbox.pem"));
  const server = await startServer(tenant, folder);
  try {
    await prepare(tenant, server.url);
    const idle = await healthUntil(server.url, sleep(IDLE_MS));
    await tenant.control("POST", "fill", { path: `${LIBRARY}/Crawled`, count: FILES, bytes: BYTES, series: "crawled" });
    const jobId = await startCrawl(server.url);
    const settings = {
      BENCH_URL: server.url,
      BENCH_JOB: jobId,
      BENCH_WATCHERS: `${WATCHERS}`,
      BENCH_QUERIES: `${QUERIES}`,
    };
    const begunAt = Date.now();
    const load = runChild("./http-load.ts", settings);
    const busy = await healthUntil(server.url, load);
    const loaded = await load;
    show("watchers and queries", loaded);
    const { job, state } = await resultOf(server.url, jobId);
    const added = percentile(busy, 0.99) - percentile(idle, 0.99);
    process.stdout.write(
      `crawl of ${FILES} files: ${state}, ${job}\n` +
        `health when idle: ${sumUp(idle)}\nhealth under load: ${sumUp(busy)}\n` +
        `what the serving thread computes in one turn: ${sumUp(await turnsSince(folder, begunAt))}\n` +
        `p99 of GET /health is ${added.toFixed(1)} ms above idle (less than 50); ` +
        `${loaded.counted["queriesFailed"]} queries failed (none); ${loaded.counted["differentStreams"]} different streams (1)\n`,
    );
  } finally {
    server.stop();
    tenant.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface RunningServer {
  readonly url: string;
  stop(): void;
}

/** BENCH_RUN_JOBS_IN=workers: the crawl is the work of another process than the server. */
async function startServer(tenant: RunningTenant, folder: string): Promise<RunningServer> {
  const place = process.env["BENCH_RUN_JOBS_IN"] ?? "server";
  const settings = {
    ...tenant.settings,
    PERSISTENT_STORAGE_PATH: join(folder, "storage"),
    RATE_LIMIT_PER_SECOND: "0",
    RUN_JOBS_IN: place,
  };
  const turns = fileURLToPath(new URL("./http-turns.ts", import.meta.url));
  const watched = { ...settings, BENCH_TURNS: turnsFile(folder) };
  const server = startCommand(["serve", "--port", "0"], watched, ["--import", turns]);
  const worker = place === "workers" ? startCommand(["worker"], settings) : undefined;
  let output = "";
  while (!output.includes("listens on")) {
    const [bytes] = (await once(server.stdout, "data")) as [Buffer];
    output += bytes.toString();
  }
  const stop = (): void => {
    worker?.kill();
    server.kill();
  };
  return { url: /listens on (\S+)/.exec(output)?.[1] ?? "", stop };
}

function startCommand(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): ChildProcessByStdio<null, Readable, null> {
  const cli = fileURLToPath(new URL("../bin/lockstep.mjs", import.meta.url));
  const options = process.env["BENCH_NODE_OPTIONS"]?.split(" ") ?? [];
  return spawn(process.execPath, [...options, ...nodeOptions, cli, ...args], {
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

function turnsFile(folder: string): string {
  return join(folder, "turns.txt");
}

async function turnsSince(folder: string, begunAt: number): Promise<number[]> {
  const lines = (await readFile(turnsFile(folder), "utf8")).trim().split("\n");
  const turns = lines.map((line) => line.split(" ").map(Number));
  return turns.flatMap(([at = 0, ms = 0]) => (at >= begunAt ? [ms] : [])).sort((a, b) => a - b);
}

/** Something to search, before anything is measured. */
async function prepare(tenant: RunningTenant, url: string): Promise<void> {
  await tenant.control("POST", "fill", { path: `${LIBRARY}/Known`, count: 1000, bytes: BYTES, series: "known" });
  const source = {
    source_id: "bulk",
    site_url: tenant.siteUrl,
    sharepoint_url_part: "/Shared Documents",
    filter: "",
  };
  const body = JSON.stringify({ domain_id: "BENCH", name: "Bench", file_sources: [source] });
  const created = await fetch(`${url}/v2/domains/create`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  if (!created.ok) throw new Error(await created.text());
  const crawled = await fetch(`${url}/v2/crawler/crawl?domain_id=BENCH&mode=incremental&format=json`);
  const { ok, error } = (await crawled.json()) as { ok: boolean; error: string };
  if (!ok) throw new Error(error);
}

/** The crawl goes on when nobody reads its stream any more. */
async function startCrawl(url: string): Promise<string> {
  const leave = new AbortController();
  const path = "/v2/crawler/crawl?domain_id=BENCH&mode=incremental&format=stream";
  const response = await fetch(url + path, { signal: leave.signal });
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (text.includes("\n\n")) break;
  }
  leave.abort();
  return /jb_\d+/.exec(text)?.[0] ?? "";
}

async function resultOf(url: string, jobId: string): Promise<{ readonly state: string; readonly job: string }> {
  const response = await fetch(`${url}/v2/jobs/results?job_id=${jobId}`);
  const { ok, error, data } = (await response.json()) as {
    ok: boolean;
    error: string;
    data: { sources: { download: { added: number }; embed: { added: number } }[] };
  };
  const [source] = data.sources;
  return { state: ok ? "ok" : error, job: `${source?.download.added} downloaded, ${source?.embed.added} embedded` };
}

/** One request after the other, so that none waits for another of ours. */
async function healthUntil(url: string, end: Promise<unknown>): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const waits: number[] = [];
  let over = false;
  void end.finally(() => {
    over = true;
  });
  while (!over) {
    const askedAt = performance.now();
    await new Promise<void>((resolve, reject) => {
      get(`${url}/health`, { agent }, (response) => {
        response.resume();
        response.on("end", resolve);
      }).on("error", reject);
    });
    waits.push(performance.now() - askedAt);
    await sleep(EVERY_MS);
  }
  agent.destroy();
  return waits.sort((a, b) => a - b);
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function sumUp(sorted: readonly number[]): string {
  const of = (share: number): string => percentile(sorted, share).toFixed(1);
  return `p50 ${of(0.5)} ms, p99 ${of(0.99)} ms, at most ${of(1)} ms of ${sorted.length}`;
}
