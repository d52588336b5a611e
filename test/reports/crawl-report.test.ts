// A crawl leaves a report of what it did; single steps, dry runs and cancelled ones do not.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { unzipSync } from "fflate";
import { DOMAIN, World } from "../engine/world.ts";

const world = await World.open();
after(() => world.close());
const reports = (): Promise<string[]> => readdir(join(world.storage, "reports", "crawls")).catch(() => []);

test("single steps, dry runs and cancelled crawls leave no report", async () => {
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  await world.crawl({ dryRun: true });
  for (const step of ["download", "process", "embed"] as const) await world.crawl({ steps: [step] });
  await world.change("add", { path: "b.txt", text: "Badgers sleep in winter." });
  assert.equal((await world.crawlUntil((line) => line.startsWith("[ 1 / "))).state, "cancelled");
  assert.deepEqual(await reports(), []);
});

test("a crawl leaves one: what it did, and the map files as they are at its end", async () => {
  await world.change("add", { path: "c.txt", text: "Cranes fly south." });
  const { job, result } = await world.crawl({ mode: "full" });
  assert.match(result.report_id, /^crawls\/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_STORY_all_full$/);
  assert.deepEqual(await reports(), [`${result.report_id.slice("crawls/".length)}.zip`]);

  const files = unzipSync(await readFile(join(world.storage, "reports", `${result.report_id}.zip`)));
  const maps = ["sharepoint_map.csv", "files_map.csv", "vectorstore_map.csv"];
  assert.deepEqual(Object.keys(files).sort(), [...maps.map((name) => `01_files/docs/${name}`).sort(), "report.json"]);
  for (const name of maps) {
    const onDisk = await readFile(world.folder(name), "utf8");
    assert.equal(Buffer.from(files[`01_files/docs/${name}`] ?? []).toString("utf8"), onDisk);
  }
  const report = JSON.parse(Buffer.from(files["report.json"] ?? []).toString("utf8"));
  assert.deepEqual(
    [report.report_id, report.domain_id, report.job_id, report.ok, report.error],
    [result.report_id, DOMAIN, job.jobId, true, ""],
  );
  assert.deepEqual([report.sources[0].source_id, report.sources[0].items_total], ["docs", 3]);
  assert.ok(report.started_utc <= report.finished_utc);
});

test("a crawl with a problem leaves one that says so", async () => {
  await world.change("add", { path: "d.pdf", text: "this is no PDF" });
  const { result } = await world.crawl();
  assert.notEqual(result.problems.length, 0);
  const [newest] = await world.app.reports.list();
  assert.deepEqual([newest?.reportId, newest?.ok, newest?.error], [result.report_id, false, result.problems.join(" ")]);
});
