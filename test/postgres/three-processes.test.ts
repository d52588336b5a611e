// A server and two workers share one PostgreSQL, also when one is killed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type DomainId, parseDomainId } from "../../src/contracts/ids.ts";
import { ServerProcess } from "../engine/server-process.ts";
import { DOMAIN, World } from "../engine/world.ts";
import { parseDomain } from "../kinds.ts";
import { addFiles, askForCrawl, slowDown } from "../queue/queued-crawl.ts";
import { WorkerProcess } from "../queue/worker-process.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

const FILES = 20;
/** The same library, as another knowledge base has it. */
const TWIN = parseDomainId("TWIN");

let postgres: PostgresServer;
let world: World;
before(async () => {
  postgres = await startPostgres();
  const settings = { DATABASE_URL: await postgres.createDatabase(), RUN_JOBS_IN: "workers", CRAWLER_CONCURRENCY: "1" };
  world = await World.open({ settings });
  const twin = { ...world.domainJson(), vector_store_name: "twin" };
  await world.app.domains.create(parseDomain(twin, TWIN));
  await addFiles(world, FILES);
});
after(async () => {
  await world.close();
  await postgres.stop();
});

/** What the server answers with first. */
async function foundIn(server: ServerProcess, domain: DomainId, text: string): Promise<string> {
  const { vectorStoreId } = await world.app.domains.get(domain);
  const { data } = await server.getJson(`/query2?query=${text}&vsid=${vectorStoreId}&format=json`);
  return JSON.stringify((data as { sources: unknown[] }).sources[0]);
}

test("a server and two workers share one PostgreSQL; one worker is killed, and everything ends as if none had been", async (t) => {
  const [server, one, two] = await Promise.all([
    ServerProcess.start(world.settings),
    WorkerProcess.start(world.settings),
    WorkerProcess.start(world.settings),
  ]);
  t.after(() => Promise.all([server.end("SIGKILL"), one.end("SIGKILL"), two.end("SIGKILL")]));
  await slowDown(world, 120);
  const [crawl, twins] = [await askForCrawl(server, DOMAIN), await askForCrawl(server, TWIN)];
  const seen = await crawl.until(/\[ 5 \/ 20 \] Downloaded/);
  await twins.until(/Downloaded/);
  const busy = /Worker (\S+) runs the job\./.exec(seen)?.[1];
  const killed = busy === one.name ? one : two;
  const left = killed === one ? two : one;
  assert.equal(await killed.end("SIGKILL"), "SIGKILL");

  const events = await crawl.events();
  const log = events.map(({ data }) => data);
  assert.ok(log.includes(`Worker ${left.name} goes on with the job: the last one ended before it did.`));
  for (const all of [events, await twins.events()]) {
    assert.equal(all.filter(({ event }) => event === "end_json").length, 1);
    assert.match(all.at(-1)?.data ?? "", /"ok": true/);
  }
  // Asked of another process than the ones that wrote it.
  assert.deepEqual(await world.contradictions(), []);
  for (let i = 0; i < FILES; i++) {
    assert.equal((await world.found(`gnu${i}`))[0], `file${i}.txt`);
    assert.match(await foundIn(server, TWIN, `gnu${i}`), new RegExp(`file${i}\\.txt`));
  }
});

test("an edit, a rename and a removal reach readers of every process", async (t) => {
  const [server, worker] = await Promise.all([
    ServerProcess.start(world.settings),
    WorkerProcess.start(world.settings),
  ]);
  t.after(() => Promise.all([server.end("SIGTERM"), worker.end("SIGKILL")]));
  const at = "2026-02-01T10:00:00Z";
  await world.change("update", { path: "folder0/file0.txt", text: "Now about yaks.", at });
  await world.change("rename", { path: "folder1/file1.txt", name: "renamed.txt" });
  await world.change("delete", { path: "folder2/file2.txt" });
  const answer = await server.getJson(`/v2/crawler/crawl?domain_id=${DOMAIN}&mode=incremental`);
  assert.deepEqual([answer.ok, answer.error], [true, ""]);
  assert.deepEqual(await world.contradictions(), []);
  for (const [text, name] of [
    ["yaks", "file0.txt"],
    ["gnu1", "renamed.txt"],
  ] as const) {
    assert.equal((await world.found(text))[0], name);
    assert.match(await foundIn(server, DOMAIN, text), new RegExp(name));
  }
  assert.ok(!(await world.found("gnu2")).includes("file2.txt"));
  assert.equal(await worker.end("SIGTERM"), 0);
});
