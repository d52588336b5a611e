// A damaged store is reported with its cure by doctor, search and crawl, and the cure works.
import assert from "node:assert/strict";
import { rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { PlacedFinding } from "../../src/engine/doctor.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { openStage, type Stage } from "../stories/stage.ts";
import { DOMAIN } from "./world.ts";

const WAYS: readonly [title: string, harm: (file: string) => void][] = [
  ["overwritten", (file) => writeFileSync(file, "this is no database\n".repeat(500))],
  ["cut", (file) => truncateSync(file, Math.floor(statSync(file).size / 2))],
];

/** With the product closed meanwhile; the file of the domain's store. */
async function damage(stage: Stage, harm: (file: string) => void): Promise<string> {
  const { vectorStoreId } = await stage.world.app.domains.get(DOMAIN);
  const file = join(stage.world.storage, "index", `${vectorStoreId}.sqlite`);
  await stage.world.app.close();
  harm(file);
  await stage.world.reopen();
  return file;
}

for (const [title, harm] of WAYS) {
  test(`a store whose file was ${title} is named with its cure by doctor, search and crawl, and the cure works`, async (t) => {
    const stage = await openStage({});
    t.after(() => stage.close());
    await stage.plant();
    const file = await damage(stage, harm);
    const cure = /Stop lockstep, delete index\/vs_\w+\.sqlite with its -wal and -shm, start it again and crawl/;

    const findings: PlacedFinding[] = [];
    for await (const one of stage.world.app.examine(DOMAIN, new AbortController().signal)) findings.push(one);
    const [problem] = findings.filter(({ outcome }) => outcome === "problem");
    assert.match(problem?.subject ?? "", /^Vector store vs_/);
    assert.match(problem?.detail ?? "", /is damaged: /);
    assert.match(problem?.remedy ?? "", cure);

    const server = await serveHttp(stage.world.app, { host: "127.0.0.1", port: 0 });
    const answer = await fetch(`${server.url}/v2/search?domain_id=${DOMAIN}&query=zebra&format=json`);
    await server.close();
    assert.equal(answer.status, 502);
    assert.match(((await answer.json()) as { error: string }).error, cure);

    const { job } = await stage.tryCrawl();
    assert.equal(job.result?.ok, false);
    assert.match(job.result?.error ?? "", cure);

    await stage.world.app.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
    await stage.world.reopen();
    await stage.forgetDownloads();
    await stage.crawl();
    assert.equal(await stage.downloads(), 0);
    assert.deepEqual(await stage.world.found("zebra"), ["policy.txt"]);
  });
}
