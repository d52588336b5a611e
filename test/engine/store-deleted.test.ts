// A crawl whose vector store is deleted under it says so and what to do.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JobId } from "../../src/contracts/ids.ts";
import type { JobContext } from "../../src/contracts/job.ts";
import { crawlRequest } from "../../src/engine/crawl-request.ts";
import { DOMAIN, World } from "./world.ts";

const world = await World.open();
after(() => world.close());

test("a crawl whose vector store is deleted under it says so, and what to do, and nothing that is not so", async () => {
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  await world.crawl();
  await world.change("add", { path: "b.txt", text: "The zebra budget is 7 euros." });
  const { vectorStoreId } = await world.app.domains.get(DOMAIN);
  const lines: string[] = [];
  let deleted = false;
  const job: JobContext = {
    jobId: "jb_900" as JobId,
    dryRun: false,
    signal: new AbortController().signal,
    log: (line) => void lines.push(line),
    async checkpoint() {
      if (deleted || !lines.some((line) => /Downloaded 'b\.txt'/.test(line))) return;
      deleted = true;
      await world.openai().vectorStores.delete(vectorStoreId);
    },
  };
  const { problems } = await world.app.crawl(crawlRequest(DOMAIN), job);
  assert.ok(deleted, lines.join("\n"));
  const said = problems.join(" ");
  assert.match(said, new RegExp(`^Source 'docs': No vector store found with id '${vectorStoreId}'\\. `));
  assert.match(
    said,
    /does not exist any more\. Clear vector_store_id in the domain \(.*Edit.*Id of the vector store\)/,
  );
  assert.doesNotMatch(said, /searches use the earlier ones/);
});
