// Failures of uploads, attachments and stores are reported and leave no item without a document.
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { CancelledError } from "../../src/contracts/errors.ts";
import {
  attachedIds,
  DOMAIN,
  found,
  holdings,
  never,
  putAndCommit,
  SOURCE,
  sha256Of,
  useVectorStore,
} from "./openai-bench.ts";
import { errorBody } from "./openai-fault-proxy.ts";

const ANY_FILE = "/vector_stores/:store/files/:file";

describe("a vector store that misbehaves", () => {
  const at = useVectorStore();

  test("an upload refused for what the file is fails for good, one refused for anything else does not", async () => {
    const cases: [status: number, body: unknown, permanent: boolean][] = [
      [400, errorBody("File is empty."), true],
      [400, errorBody("Invalid extension xlsx. Supported formats: c, cpp, md."), true],
      [400, errorBody("Files with extensions [none] are not supported for retrieval."), true],
      [400, errorBody("It cannot be taken in.", "unsupported_file"), true],
      [413, errorBody("Maximum content size limit exceeded."), true],
      [400, errorBody("Missing required parameter: 'file'."), false],
      [400, errorBody("The file purpose 'assistants' is not supported."), false],
      [400, errorBody("The files API is not supported for this resource."), false],
      [400, { error: { code: "BadRequest", message: "API version not supported" } }, false],
      [400, "<html>400 Bad Request: file is empty</html>", false],
      [413, "<html>413 Request Entity Too Large</html>", false],
    ];
    for (const [status, body, permanent] of cases) {
      const what = JSON.stringify(body);
      await putAndCommit(at, await at.makeFile("a", "Otters sleep."), await at.makeFile("b", "Beavers build."));
      at.proxy.inject({ on: "POST /files", times: 1, act: { kind: "answer", status, body } });
      const { ready, failed } = await putAndCommit(at, await at.makeFile("a", `Otters, refused: ${what}`));
      assert.deepEqual(ready, [], what);
      assert.deepEqual(
        failed.map((failure) => failure.permanent),
        [permanent],
        what,
      );
      assert.deepEqual(await found(at, "Otters"), permanent ? [] : ["Otters sleep."], what);
    }
  });

  test("a file that is gone from disk or changed since it was hashed fails without harm", async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep alone."), await at.makeFile("b", "Beavers build."));
    const changed = await at.makeFile("a", "Otters sleep together.");
    await writeFile(changed.path, "Otters, half written");
    const gone = await at.makeFile("b", "Beavers rest.");
    await rm(gone.path);
    const { ready, failed } = await putAndCommit(at, changed, gone);
    assert.deepEqual(ready, []);
    assert.deepEqual(
      failed.map((failure) => failure.permanent),
      [false, false],
    );
    assert.match(failed.find((failure) => failure.itemId === "a")?.reason ?? "", /changed on disk since it was hashed/);
    assert.match(failed.find((failure) => failure.itemId === "b")?.reason ?? "", /ENOENT/);
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep alone."]);
    assert.deepEqual(await found(at, "Beavers"), ["Beavers build."]);
  });

  test("an upload survives a 429, a 500 and two broken connections", async () => {
    const text = `Otters sleep. ${"x".repeat(300_000)}`;
    const on = "POST /files";
    at.proxy.inject(
      {
        on,
        times: 1,
        act: { kind: "answer", status: 429, headers: { "retry-after": "90" }, body: errorBody("Slow down.") },
      },
      { on, times: 1, act: { kind: "answer", status: 500, body: errorBody("Oops.") } },
      { on, times: 1, act: { kind: "reset" } },
      { on, times: 1, act: { kind: "reset-after" } },
    );
    const { ready, failed } = await putAndCommit(at, await at.makeFile("a", text));
    assert.deepEqual(failed, []);
    assert.ok(at.clock.slept.includes(90_000));
    assert.equal(at.proxy.log.filter((line) => line === "POST /v1/files").length, 5);
    assert.deepEqual(await attachedIds(at), [ready[0]?.fileId]);
    const [hit] = await at.index.search({ text: "Otters", limit: 5 });
    assert.equal(hit?.fileId, ready[0]?.fileId);
  });

  test("an attach whose answer was lost is not sent a second time", async () => {
    at.proxy.inject({ on: "POST /vector_stores/:store/files", times: 1, act: { kind: "reset-after" } });
    const { ready } = await putAndCommit(at, await at.makeFile("a", "Otters sleep."));
    assert.deepEqual(await attachedIds(at), [ready[0]?.fileId]);
    assert.equal(at.proxy.log.filter((line) => line === `POST /v1/vector_stores/${at.storeId}/files`).length, 1);
  });

  test("a file that vanishes from the store after it was attached fails for now", async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep."));
    at.clock.hurry();
    const gone = { kind: "answer", status: 404, body: errorBody("No file found with id.") } as const;
    at.proxy.inject({ on: `GET ${ANY_FILE}`, times: 1_000_000, act: gone });
    const vanished = await putAndCommit(at, await at.makeFile("a", "Otters, vanished."));
    assert.match(vanished.failed[0]?.reason ?? "", /vanished from the vector store/);
    assert.equal(vanished.failed[0]?.permanent, false);
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep."]);
  });

  test("a store that disappears ends the commit with one sentence", async () => {
    const draft = await at.index.draft(SOURCE);
    await draft.put(await at.makeFile("a", "Otters sleep."), never);
    await draft.put(await at.makeFile("b", "Beavers build."), never);
    await at.client.vectorStores.delete(at.storeId);
    await assert.rejects(draft.commit(never), /^RemoteError: attach to vector store .* does not exist any more$/);
    await draft.discard();
    assert.equal(await at.backend.openIndex(at.storeId, DOMAIN), undefined);
  });

  test("cancelling ends a put and a commit, and a discard then cleans up", async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep alone."));
    const job = new AbortController();
    const draft = await at.index.draft(SOURCE);
    await draft.put(await at.makeFile("a", "Otters sleep together."), job.signal);
    job.abort();
    await assert.rejects(draft.put(await at.makeFile("b", "Beavers build."), job.signal), CancelledError);
    await assert.rejects(draft.commit(job.signal), CancelledError);
    await draft.discard();
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep alone."]);
    assert.equal((await attachedIds(at)).length, 1);
  });

  test("a commit cancelled half-way and then discarded leaves no item without a document", async () => {
    const items = Array.from({ length: 12 }, (_, i) => `item-${i}`);
    await putAndCommit(at, ...(await Promise.all(items.map((item) => at.makeFile(item, `${item} is old.`)))));
    const job = new AbortController();
    const rewrite = (body: Record<string, unknown>) => {
      job.abort();
      return body;
    };
    const draft = await at.index.draft(SOURCE);
    for (const item of items) await draft.put(await at.makeFile(item, `${item} is new.`), job.signal);
    at.proxy.inject({ on: `DELETE ${ANY_FILE}`, times: 1, act: { kind: "rewrite", rewrite } });
    await assert.rejects(draft.commit(job.signal), CancelledError);
    await draft.discard();
    const held = await holdings(at);
    assert.deepEqual(held.map((ref) => ref.itemId as string).toSorted(), items.toSorted());
    const news = held.map(({ itemId, sha256 }) => sha256 === sha256Of(`${itemId} is new.`));
    assert.ok(news.includes(true) && news.includes(false));
  });

  test("an old version that cannot be detached is reported, and the next draft removes it", async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep alone."));
    const draft = await at.index.draft(SOURCE);
    await draft.put(await at.makeFile("a", "Otters sleep together."), never);
    at.proxy.inject({
      on: `DELETE ${ANY_FILE}`,
      times: 1,
      act: { kind: "answer", status: 403, body: errorBody("No right.") },
    });
    const { ready, failed } = await draft.commit(never);
    assert.deepEqual(ready, []);
    assert.deepEqual(
      failed.map(({ itemId, permanent }) => ({ itemId, permanent })),
      [{ itemId: "a", permanent: false }],
    );
    await draft.discard();
    assert.equal((await found(at, "Otters")).length, 2);
    await (await at.index.draft(SOURCE)).commit(never);
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep together."]);
  });

  test("a new label that was refused is reported, and written when the same draft is asked again", async () => {
    const file = await at.makeFile("named", "Otters have names.");
    await putAndCommit(at, file);
    const draft = await at.index.draft(SOURCE);
    const label = { ...file.label, modifiedAt: "2026-02-01T00:00:00.000000Z" };
    const refusal = { kind: "answer", status: 403, body: errorBody("No right.") } as const;
    at.proxy.inject({ on: `POST ${ANY_FILE}`, times: 1, act: refusal });
    await draft.relabel(file.itemId, label);
    assert.deepEqual(
      (await draft.stage(never)).map(({ itemId, permanent }) => ({ itemId, permanent })),
      [{ itemId: file.itemId, permanent: false }],
    );
    await draft.relabel(file.itemId, { ...label });
    assert.deepEqual(await draft.stage(never), []);
    assert.deepEqual((await draft.commit(never)).failed, []);
    const [hit] = await at.index.search({ text: "names", limit: 1 });
    assert.equal(hit?.attributes["last_modified"], label.modifiedAt);
  });
});
