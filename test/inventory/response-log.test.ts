// Notes of responses survive crashes and several writers.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { appendFile, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { promisify } from "node:util";
import { createResponseLog } from "../../src/inventory/response-log.ts";

describe("notes of responses", () => {
  let folder = "";
  let path = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-notes-"));
    path = join(folder, "responses.jsonl");
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const note = (id: string, at = 1) => ({ id, created_at: at, model: "m" });
  const ids = async (log: ReturnType<typeof createResponseLog>): Promise<string[]> =>
    (await log.list()).map(({ id }) => id);

  it("lists the newest first, each once, without what was deleted", async () => {
    const log = createResponseLog(folder);
    assert.deepEqual(await log.list(), []);
    for (const id of ["resp_1", "resp_2", "resp_3", "resp_1"]) await log.add(note(id));
    await log.remove("resp_2");
    assert.deepEqual(await ids(log), ["resp_1", "resp_3"]);
    assert.deepEqual((await createResponseLog(folder).list())[0], note("resp_1"));
  });

  it("loses only the line that a crash cut short", async () => {
    await createResponseLog(folder).add(note("resp_1"));
    await appendFile(path, '{"id":"resp_cut","crea');
    const log = createResponseLog(folder);
    await log.add(note("resp_2"));
    assert.deepEqual(await ids(log), ["resp_2", "resp_1"]);
  });

  it("takes notes of several processes at once and loses none, also while it is shortened", async () => {
    const module = new URL("../../src/inventory/response-log.ts", import.meta.url).href;
    const script = `const { createResponseLog } = await import(${JSON.stringify(module)});
      const log = createResponseLog(${JSON.stringify(folder)}, 1000);
      for (let i = 0; i < 20; i++) await log.add({ id: process.argv[1] + i, created_at: 1, model: "m" });`;
    const run = promisify(execFile);
    const writers = ["resp_a", "resp_b", "resp_c"];
    await Promise.all(writers.map((name) => run(process.execPath, ["--input-type=module", "-e", script, name])));
    const wanted = writers.flatMap((name) => Array.from({ length: 20 }, (_, i) => name + i));
    assert.deepEqual((await ids(createResponseLog(folder))).toSorted(), wanted.toSorted());
  });

  it("is shortened to what is left of it", async () => {
    const log = createResponseLog(folder, 1000);
    for (let i = 0; i < 40; i++) {
      await log.add(note(`resp_${i}`));
      await log.remove(`resp_${i}`);
    }
    await log.add(note("resp_last"));
    assert.ok((await stat(path)).size <= 1100);
    assert.deepEqual(await ids(log), ["resp_last"]);
    assert.doesNotMatch(await readFile(path, "utf8"), /resp_1"/);
  });
});
