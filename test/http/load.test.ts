// Every request is answered while a crawl runs and many watch it.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { serveHttp } from "../../src/http/serve-http.ts";
import { DOMAIN, World } from "../engine/world.ts";
import { ask } from "./ask.ts";
import { hashOf, watch } from "./watcher.ts";

const KNOWN = 40;
const FRESH = 120;
const WATCHERS = 60;
const ASKING = 4;

async function jobFile(world: World, jobId: string): Promise<Buffer> {
  const folder = join(world.storage, "jobs", "crawler");
  const name = (await readdir(folder)).find((each) => each.includes(`[${jobId}]`));
  return await readFile(join(folder, name ?? assert.fail(`the file of ${jobId} is gone`)));
}

test("while a crawl runs and many watch it, every question is answered, and what is new is found at the end", async () => {
  const world = await World.open({ settings: { RATE_LIMIT_PER_SECOND: "0" }, pace: { searchesHere: false } });
  const server = await serveHttp(world.app, { host: "127.0.0.1", port: 0, keepAliveMs: 600_000 });
  try {
    await world.change("fill", { path: "known", count: KNOWN, series: "known" });
    await world.crawl();
    await world.change("fill", { path: "fresh", count: FRESH, series: "fresh" });
    const crawl = watch(`${server.url}/v2/crawler/crawl?domain_id=${DOMAIN}&mode=incremental&format=stream`);
    await crawl.attached;
    const [running] = await world.app.jobs.list({ state: "running" });
    const jobId = running?.jobId ?? assert.fail("the crawl is over already");
    const monitor = `${server.url}/v2/jobs/monitor?job_id=${jobId}&format=stream`;
    const watchers = Array.from({ length: WATCHERS }, () => watch(monitor));
    let over = false;
    const ended = Promise.all(watchers.map((watcher) => watcher.ended)).finally(() => {
      over = true;
    });
    const answers: number[] = [];
    const askOn = async (path: string): Promise<void> => {
      while (!over) {
        const [{ status, json }, health] = await Promise.all([
          ask(server.url, `GET ${path}`),
          ask(server.url, "GET /health"),
        ]);
        assert.deepEqual([status, health.status], [200, 200], path);
        const found = json["data"]?.["results"] ?? json["data"]?.["sources"] ?? json["sources"];
        assert.ok((found?.length ?? 0) > 0, `${path} found nothing`);
        answers.push(status);
      }
    };
    const paths = ["/v2/search?query=brake+torque&format=json", "/query2?query=courier+refund&format=json"];
    await Promise.all([ended, ...Array.from({ length: ASKING }, (_, i) => askOn(paths[i % 2] ?? ""))]);

    const file = await jobFile(world, jobId);
    for (const hash of [...(await ended), await crawl.ended]) assert.equal(hash, hashOf(file));
    const { state, result } = await world.app.jobs.get(jobId);
    assert.deepEqual([state, result?.error], ["completed", ""]);
    assert.ok(answers.length >= ASKING);
    const standing = await world.app.standing(await world.app.domains.get(DOMAIN));
    assert.equal(standing.documents, KNOWN + FRESH);
  } finally {
    await server.close();
    await world.close();
  }
});
