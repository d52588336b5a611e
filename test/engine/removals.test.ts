// A file that cannot be embedded is reported once, and not as a failed removal.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStage } from "../stories/stage.ts";
import { DOMAIN } from "./world.ts";

test("a file that cannot be embedded fails once, and is not taken for one that could not be removed", async () => {
  const stage = await openStage({}, "remote");
  const { world, proxy } = stage;
  try {
    const before = await world.app.domains.get(DOMAIN);
    const [first] = before.sources;
    assert.ok(first?.sourceType === "file_sources");
    const sources = ["Old", "New"].map((name) => ({
      ...first,
      sourceId: name.toLowerCase() as typeof first.sourceId,
      urlPart: `/Shared Documents/${name}`,
    }));
    await world.app.domains.update({ ...before, sources }, before);
    await world.change("add", { path: "Old/gone.txt", text: "The zebra desk approves a hotel night." });
    await world.change("add", { path: "Old/stays.txt", text: "The okapi team answers questions about pay." });
    await world.change("add", { path: "New/first.txt", text: "The quagga rule was abolished in 2019." });
    await stage.crawl();
    await world.change("delete", { path: "Old/gone.txt" });
    await world.change("add", { path: "Old/late.txt", text: "The dugong rule cannot be embedded." });
    const fail = (body: Record<string, unknown>): unknown => ({
      ...body,
      status: "failed",
      last_error: { code: "server_error", message: "Try later." },
    });
    for (const on of ["POST /vector_stores/:store/files", "GET /vector_stores/:store/files/:file"]) {
      proxy.inject({ on, times: 1000, act: { kind: "rewrite", rewrite: fail } });
    }
    const { result } = await stage.tryCrawl({ retryBatches: 1 });
    const [old] = result.sources;
    assert.deepEqual([old?.embed.failed, old?.embed.removed, old?.embed.added], [1, 1, 0]);
    assert.doesNotMatch(result.problems.join(" "), /could not be removed/);
    assert.match(result.problems.join(" "), /1 file could not be embedded/);
    assert.deepEqual(
      (await world.search("zebra desk hotel")).filter(({ text }) => text.includes("zebra")),
      [],
      "what is gone has left all the same",
    );
  } finally {
    await stage.close();
  }
});
