// With a store at a service: erasing a document deletes its upload there, too; questions are not asked.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { openStage, type Stage } from "../stories/stage.ts";
import { runErase } from "./erase-suite.ts";
import { findMarker } from "./find-marker.ts";
import { DOMAIN } from "./world.ts";

const MARKER = "zyxquorvix";

let stage: Stage;
beforeEach(async () => {
  stage = await openStage({}, "remote");
  await stage.plant();
});
afterEach(() => stage.close());

test("questions are not asked where changes are visible as they are made, and the crawl says so", async () => {
  const { world } = stage;
  await world.crawl();
  const questions = Array.from({ length: 10 }, (_, at) => ({ question: `Question ${at}?`, document: "a.txt" }));
  await writeFile(join(world.storage, "domains", DOMAIN, "questions.json"), JSON.stringify({ questions }));
  await stage.change("add", { path: "Travel/new.txt", text: "The new rule." });
  const { result, log } = await world.crawl();
  assert.equal(result.questions, undefined);
  assert.match(log, /The questions of the domain are not asked: its vector store is at a service/);
});

test("the upload is gone for good, the others stay, and the next crawl uploads nothing", async () => {
  const { world } = stage;
  await stage.change("add", { path: `Travel/${MARKER}.txt`, text: `The ${MARKER} payroll of the harbour office.` });
  await world.crawl();
  const before = await stage.fileIds();
  const fileId = before[`Travel/${MARKER}.txt`] ?? assert.fail(JSON.stringify(before));
  const client = world.openai();
  await client.files.retrieve(fileId);
  assert.match((await runErase(world, { search: MARKER })).error, /Only the embedded index can be searched/);
  const { error, data } = await runErase(world, { document: `Travel/${MARKER}.txt` });
  assert.equal(error, "");
  assert.deepEqual(
    data.places.filter(({ place }) => place === "uploads"),
    [{ place: "uploads", removed: 1 }],
  );
  assert.match(data.left.join(" "), /Answers that quote it are stored by the service/);
  await assert.rejects(client.files.retrieve(fileId), /404|No such/i);
  assert.deepEqual(await findMarker(world.storage, MARKER), []);
  await stage.change("update", { path: `Travel/${MARKER}.txt`, text: `The ${MARKER} payroll of next year.` });
  const { source } = await world.crawl();
  assert.equal(source.download.skipped, 1);
  const { [`Travel/${MARKER}.txt`]: _, ...others } = before;
  assert.deepEqual(await stage.fileIds(), others);
});
