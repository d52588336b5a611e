// Clients that leave before their stream begins leave nothing behind.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readlink } from "node:fs/promises";
import { connect } from "node:net";
import { test } from "node:test";
import { ask } from "./ask.ts";
import { crawlResult, serveScripted } from "./scripted-app.ts";

/** Job files that this process has open. */
async function openJobFiles(folder: string): Promise<string[]> {
  const links = await Promise.all(
    (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
  );
  return links.filter((link) => link.startsWith(`${folder}/jobs/`));
}

const skip = existsSync("/proc/self/fd") ? false : "needs /proc to see what is open";

test("clients that leave before their stream begins leave nothing behind", { skip }, async () => {
  // Whose a connection was that is closed already cannot be told, and without this it would be refused.
  const served = await serveScripted({ settings: { ALLOW_UNAUTHENTICATED_NETWORK_ACCESS: "true" } });
  // Long enough that the events do not fit into what is read ahead of a client.
  served.script.crawl = async (request, job) => {
    for (let i = 0; i < 400; i++) {
      job.log(`line ${i} ${"x".repeat(2000)}`);
      if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return crawlResult(request, job);
  };
  try {
    await ask(served.url, "POST /v2/domains/create", { json: { domain_id: "DEMO", name: "Demo" } });
    const { port } = new URL(served.url);
    for (let i = 0; i < 10; i++) {
      const socket = connect(Number(port), "127.0.0.1");
      const request = "GET /v2/crawler/crawl?domain_id=DEMO&format=stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
      await new Promise<void>((resolve) => socket.write(request, () => resolve()));
      socket.destroy();
    }
    const isOver = async (): Promise<boolean> => {
      const jobs = await served.app.jobs.list({ limit: 50 });
      return jobs.length === 10 && jobs.every(({ state }) => state === "completed");
    };
    while (!(await isOver())) await new Promise((resolve) => setImmediate(resolve));
    while ((await openJobFiles(served.folder)).length > 0) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(await openJobFiles(served.folder), []);
  } finally {
    await served.close();
  }
});
