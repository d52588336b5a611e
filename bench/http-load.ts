import { createHash } from "node:crypto";
import { Agent, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { report } from "./measure.ts";

/** In a process of its own: watchers of the running job, and questions at a steady rate until the job has ended. */
const url = process.env["BENCH_URL"] ?? "";
const jobId = process.env["BENCH_JOB"] ?? "";
const WATCHERS = Number(process.env["BENCH_WATCHERS"]);
const PER_SECOND = Number(process.env["BENCH_QUERIES"]);
const MAX_OPEN = 50;
/** From the words that the tenant fills its files with. */
const WORDS =
  "battery brake cargo contract courier depot firmware gear invoice lease motor pallet policy refund torque".split(" ");

await report(async () => {
  let over = false;
  const watched = Promise.all(Array.from({ length: WATCHERS }, () => watch())).finally(() => {
    over = true;
  });
  const { waits, failed, seconds } = await askUntil(() => over);
  const streams = await watched;
  waits.sort((a, b) => a - b);
  return {
    watchers: streams.length,
    differentStreams: new Set(streams.map(({ hash }) => hash)).size,
    bytesEach: streams[0]?.bytes ?? 0,
    queries: waits.length,
    queriesPerSecond: Math.round(waits.length / seconds),
    queriesFailed: failed,
    queryP50: Math.round(waits[Math.floor(waits.length * 0.5)] ?? 0),
    queryP99: Math.round(waits[Math.floor(waits.length * 0.99)] ?? 0),
  };
});

/** At a steady rate, unless the server is so far behind that asking more would only make a queue longer. */
async function askUntil(isOver: () => boolean): Promise<{ waits: number[]; failed: number; seconds: number }> {
  const agent = new Agent({ keepAlive: true });
  const waits: number[] = [];
  const open = new Set<Promise<void>>();
  const startedAt = performance.now();
  let failed = 0;
  for (let i = 0; !isOver(); i++) {
    await sleep(Math.max(0, startedAt + (i * 1000) / PER_SECOND - performance.now()));
    if (open.size >= MAX_OPEN) continue;
    const question = [i, i * 7 + 3, i * 11 + 5].map((at) => WORDS[at % WORDS.length]).join("+");
    const path = i % 2 ? `/query2?query=${question}` : `/v2/search?query=${question}&domain_id=BENCH`;
    const asked: Promise<void> = ask(`${path}&format=json`, agent)
      .then(
        (ms) => void waits.push(ms),
        () => void failed++,
      )
      .finally(() => open.delete(asked));
    open.add(asked);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await Promise.all(open);
  agent.destroy();
  return { waits, failed, seconds };
}

function watch(): Promise<{ readonly hash: string; readonly bytes: number }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ hash: string; bytes: number }>();
  const hash = createHash("sha256");
  let bytes = 0;
  get(`${url}/v2/jobs/monitor?job_id=${jobId}&format=stream`, { agent: false }, (response) => {
    response.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      hash.update(chunk);
    });
    response.on("end", () => resolve({ hash: hash.digest("hex"), bytes }));
    response.on("error", reject);
  }).on("error", reject);
  return promise;
}

function ask(path: string, agent: Agent): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const askedAt = performance.now();
  get(url + path, { agent }, (response) => {
    response.resume();
    response.on("end", () =>
      response.statusCode === 200
        ? resolve(performance.now() - askedAt)
        : reject(new Error(`${path}: ${response.statusCode}`)),
    );
    response.on("error", reject);
  }).on("error", reject);
  return promise;
}
