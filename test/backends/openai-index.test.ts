// Documents are put, replaced, relabelled and removed in a remote vector store without a gap.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toFile } from "openai";
import { ConflictError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import {
  attachedIds,
  found,
  holdings,
  never,
  putAndCommit,
  SOURCE,
  sha256Of,
  uploadedIds,
  useVectorStore,
} from "./openai-bench.ts";
import { errorBody } from "./openai-fault-proxy.ts";

describe("a vector store over the network", () => {
  const at = useVectorStore();

  test("a put document carries our marks and is found", async () => {
    const file = await at.makeFile("a", "Otters sleep holding hands.");
    const { ready, failed } = await putAndCommit(at, file);
    assert.deepEqual(failed, []);
    assert.equal(ready.length, 1);
    assert.deepEqual(
      (await holdings(at)).map(({ itemId, fileId, sha256 }) => ({ itemId, fileId, sha256 })),
      [{ itemId: "a", fileId: ready[0]?.fileId, sha256: file.sha256 }],
    );
    const [hit] = await at.index.search({ text: "Otters", limit: 5 });
    assert.equal(hit?.name, "a.md");
    assert.equal(hit?.fileId, ready[0]?.fileId);
    assert.deepEqual(hit?.attributes, {
      domain_id: "DEMO",
      source_id: "library",
      item_id: "a",
      content_hash: file.sha256,
      file_type: "md",
      last_modified: "2026-01-15T10:00:00.000000Z",
    });
  });

  test("attributes stay within 16 keys and 512 characters, and ours are never the ones left out", async () => {
    const file = await at.makeFile("a", "Otters sleep holding hands.");
    const extra = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`extra_${i}`, "x".repeat(600)]));
    const attributes = { ...extra, ...file.label.attributes, domain_id: "OTHER" };
    await putAndCommit(at, { ...file, label: { ...file.label, attributes } });
    const [hit] = await at.index.search({ text: "Otters", limit: 5 });
    assert.equal(Object.keys(hit?.attributes ?? {}).length, 16);
    assert.equal(hit?.attributes["domain_id"], "DEMO");
    assert.equal(hit?.attributes["last_modified"], "2026-01-15T10:00:00.000000Z");
    assert.equal(String(hit?.attributes["extra_0"]).length, 512);
  });

  test("a replaced document is never missing: the old one leaves at commit, after the new one is ready", async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep alone."));
    const draft = await at.index.draft(SOURCE);
    await draft.put(await at.makeFile("a", "Otters sleep together."), never);
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep alone."]);
    const { ready } = await draft.commit(never);
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep together."]);
    assert.deepEqual(await attachedIds(at), [ready[0]?.fileId]);
    const newFile = `/v1/vector_stores/${at.storeId}/files/${ready[0]?.fileId}`;
    const lastLook = at.proxy.log.lastIndexOf(`GET ${newFile}`);
    const firstDetach = at.proxy.log.findIndex((line) => line.startsWith("DELETE"));
    assert.ok(lastLook >= 0 && lastLook < firstDetach, at.proxy.log.join("\n"));
  });

  test("a relabelled document keeps its file and is neither uploaded nor attached again", async () => {
    const file = await at.makeFile("a", "Otters sleep holding hands.");
    const { ready } = await putAndCommit(at, file);
    const before = at.proxy.log.length;
    const draft = await at.index.draft(SOURCE);
    await draft.relabel(file.itemId, { ...file.label, name: "b.md", modifiedAt: "2026-02-01T00:00:00.000000Z" });
    assert.deepEqual((await draft.commit(never)).failed, []);
    const [ref] = await holdings(at);
    assert.equal(ref?.fileId, ready[0]?.fileId);
    assert.equal(ref?.sha256, file.sha256);
    const [hit] = await at.index.search({ text: "Otters", limit: 5 });
    assert.equal(hit?.attributes["last_modified"], "2026-02-01T00:00:00.000000Z");
    const posts = at.proxy.log.slice(before).filter((line) => line.startsWith("POST") && !line.endsWith("/search"));
    assert.deepEqual(posts, [`POST /v1/vector_stores/${at.storeId}/files/${ready[0]?.fileId}`]);
  });

  test("removing detaches from the store and leaves the upload", async () => {
    const { ready } = await putAndCommit(
      at,
      await at.makeFile("a", "Otters sleep."),
      await at.makeFile("b", "Otters wake."),
    );
    const draft = await at.index.draft(SOURCE);
    await draft.remove("a" as ItemId);
    assert.equal((await found(at, "Otters")).length, 2);
    await draft.commit(never);
    assert.deepEqual(await found(at, "Otters"), ["Otters wake."]);
    const removed = ready.find((ref) => ref.itemId === "a");
    assert.equal((await at.client.files.retrieve(removed?.fileId ?? "")).id, removed?.fileId);
  });

  test("files of others, of other domains and of other sources are left alone", async () => {
    const foreign = await at.client.files.create({
      file: await toFile(Buffer.from("Otters, foreign."), "f.md"),
      purpose: "assistants",
    });
    await at.client.vectorStores.files.create(at.storeId, { file_id: foreign.id });
    for (const marks of [
      { domain_id: "OTHER", source_id: "library" },
      { domain_id: "DEMO", source_id: "other" },
    ]) {
      const file = await at.client.files.create({
        file: await toFile(Buffer.from(`Otters ${marks.domain_id}.`), "g.md"),
        purpose: "assistants",
      });
      await at.client.vectorStores.files.create(at.storeId, {
        file_id: file.id,
        attributes: { ...marks, item_id: "a" },
      });
    }
    const others = await attachedIds(at);
    await putAndCommit(at, await at.makeFile("a", "Otters, ours."));
    const draft = await at.index.draft(SOURCE);
    await draft.remove("a" as ItemId);
    await draft.commit(never);
    assert.deepEqual(await attachedIds(at), others);
    assert.deepEqual(await holdings(at), []);
  });

  test("after a crash between add and detach the newest counts and the next draft removes the older", async () => {
    await putAndCommit(at, await at.makeFile("a", "Otters sleep alone."), await at.makeFile("b", "Beavers build."));
    // What a killed process leaves: the new version beside the old one, which it did not come to detach.
    const crashed = await at.index.draft(SOURCE);
    await crashed.put(await at.makeFile("a", "Otters sleep together."), never);
    const refusal = { kind: "answer", status: 401, body: errorBody("Not now.") } as const;
    at.proxy.inject({ on: "DELETE /vector_stores/:store/files/:file", times: 1, act: refusal });
    await assert.rejects(crashed.commit(never), /the key was refused/);
    assert.equal((await found(at, "Otters")).length, 2);
    const next = await at.restart();
    const refs = await holdings(at);
    assert.equal(refs.length, 2);
    assert.equal(refs.find((ref) => ref.itemId === "a")?.sha256, sha256Of("Otters sleep together."));
    await (await next.draft(SOURCE)).commit(never);
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep together."]);
    assert.deepEqual(await found(at, "Beavers"), ["Beavers build."]);
  });

  test("discard takes back what the draft added, and nothing else", async () => {
    const { ready } = await putAndCommit(at, await at.makeFile("a", "Otters sleep alone."));
    const uploadsBefore = await uploadedIds(at);
    const draft = await at.index.draft(SOURCE);
    await draft.put(await at.makeFile("a", "Otters sleep together."), never);
    await draft.put(await at.makeFile("b", "Beavers build."), never);
    await draft.discard();
    assert.deepEqual(await attachedIds(at), [ready[0]?.fileId]);
    assert.deepEqual(await found(at, "Otters"), ["Otters sleep alone."]);
    await assert.rejects(draft.commit(never), ConflictError);
    await (await at.index.draft(SOURCE)).commit(never);
    assert.deepEqual(await uploadedIds(at), uploadsBefore, "what the next one does not want is deleted");
  });

  test("the last word about an item within a draft counts", async () => {
    const draft = await at.index.draft(SOURCE);
    await draft.put(await at.makeFile("a", "Otters, first try."), never);
    await draft.put(await at.makeFile("a", "Otters, second try."), never);
    await draft.put(await at.makeFile("b", "Otters, taken back."), never);
    await draft.remove("b" as ItemId);
    const { ready, failed } = await draft.commit(never);
    assert.deepEqual(failed, []);
    assert.deepEqual(
      ready.map((ref) => ref.itemId),
      ["a"],
    );
    assert.deepEqual(await found(at, "Otters"), ["Otters, second try."]);
  });

  test("an empty file fails permanently at upload, and the others go on", async () => {
    const { ready, failed } = await putAndCommit(
      at,
      await at.makeFile("empty", ""),
      await at.makeFile("a", "Otters sleep."),
    );
    assert.deepEqual(
      ready.map((ref) => ref.itemId),
      ["a"],
    );
    assert.deepEqual(
      failed.map(({ itemId, permanent }) => ({ itemId, permanent })),
      [{ itemId: "empty", permanent: true }],
    );
    assert.match(failed[0]?.reason ?? "", /empty/i);
  });
});
