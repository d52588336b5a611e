// After a kill at any request nothing is missing, and the next run converges.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { detachedUploads } from "../../src/backends/openai/uploads.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import {
  attachedIds,
  found,
  holdings,
  never,
  putAndCommit,
  SOURCE,
  tidyADayLater,
  uploadedIds,
  useVectorStore,
} from "./openai-bench.ts";
import type { ChildWork } from "./openai-kill-child.ts";

const CHILD = join(import.meta.dirname, "openai-kill-child.ts");
/** More than are worked on at once, so that a kill finds some done and some not. */
const REPLACED = ["a", "b", "c", "d", "e", "f"];

/** The request after which the process dies: the service has carried it out, and nobody hears of it. */
const MOMENTS: readonly { readonly after: string; readonly nth: number }[] = [
  { after: "POST /files", nth: 1 },
  { after: "POST /files", nth: 3 },
  { after: "POST /vector_stores/:store/file_batches", nth: 1 },
  { after: "DELETE /vector_stores/:store/files/:file", nth: 1 },
];

describe("a process that is killed while it brings a store in step", () => {
  const at = useVectorStore();

  for (const { after, nth } of MOMENTS) {
    test(`after ${after} number ${nth}: nothing is missing then, and the next run converges`, async () => {
      const name = (item: string) => `${item}-${after.split(" ")[0]}-${after.length}-${nth}`;
      const olds = [...REPLACED, "gone"].map((item) => at.makeFile(name(item), `Old ${item}, ${after} ${nth}.`));
      await putAndCommit(at, ...(await Promise.all(olds)));
      const uploadsBefore = await uploadedIds(at);
      const news = [...REPLACED, "new"].map((item) => at.makeFile(name(item), `New ${item}, ${after} ${nth}.`));
      const put = await Promise.all(news);
      const remove = [name("gone") as ItemId];
      const { storage, storeId } = at;
      await killAfter({ baseUrl: `${at.proxy.url}/v1`, storage, storeId, put, remove }, after, nth);

      const items = new Set((await holdings(at)).map(({ itemId }) => itemId as string));
      for (const item of REPLACED) assert.ok(items.has(name(item)), `${item} is missing`);

      const index = await at.restart();
      const held = new Map((await holdings({ index })).map((ref) => [ref.itemId, ref.sha256]));
      const draft = await index.draft(SOURCE);
      for (const itemId of remove) await draft.remove(itemId);
      for (const file of put) if (held.get(file.itemId) !== file.sha256) await draft.put(file, never);
      assert.deepEqual((await draft.commit(never)).failed, []);

      const refs = await holdings({ index });
      const told = refs.map(({ itemId, sha256 }) => `${itemId} ${sha256}`).toSorted();
      assert.deepEqual(told, put.map(({ itemId, sha256 }) => `${itemId} ${sha256}`).toSorted());
      const attached = (await attachedIds(at)).toSorted();
      assert.deepEqual(attached, refs.map(({ fileId }) => fileId as string).toSorted());
      await tidyADayLater(at);
      // What the service finished between the look at what is held and the draft was replaced like every old version: the
      // sweep knows it.
      const known = new Set<string>([...uploadsBefore, ...attached, ...(await detachedUploads(at.notes.folder))]);
      const orphans = (await uploadedIds(at)).filter((id) => !known.has(id));
      assert.deepEqual(orphans, []);
      assert.deepEqual(await found({ index }, "Old"), []);
    });
  }

  /** The service tells seconds, so what replaces and what is replaced may look equally old. */
  test("when the old is listed before the new of the same second, no upload is left behind", async () => {
    const [old, next] = await Promise.all([at.makeFile("second", "Old second."), at.makeFile("second", "New second.")]);
    await putAndCommit(at, old);
    const before = await uploadedIds(at);
    const { storage, storeId } = at;
    const work = { baseUrl: `${at.proxy.url}/v1`, storage, storeId, put: [next], remove: [] };
    await killAfter(work, "POST /vector_stores/:store/files", 1);
    for (;;) {
      const { data } = await at.client.vectorStores.files.list(storeId);
      if (data.every(({ status }) => status === "completed")) break;
      await setTimeout(20);
    }

    const sameSecond = (body: Record<string, unknown>) => {
      const data = (body["data"] as { id: string }[]).map((file) => ({ ...file, created_at: 1_700_000_000 }));
      return { ...body, data: data.toSorted((a, b) => Number(before.includes(b.id)) - Number(before.includes(a.id))) };
    };
    const list = "GET /vector_stores/:store/files";
    at.proxy.inject({ on: list, times: 1000, act: { kind: "rewrite", rewrite: sameSecond } });
    const index = await at.restart();
    const draft = await index.draft(SOURCE);
    await draft.put(next, never);
    assert.deepEqual((await draft.commit(never)).failed, []);
    at.proxy.calm();
    assert.deepEqual(
      (await uploadedIds(at)).filter((id) => !before.includes(id)),
      await attachedIds(at),
    );
    assert.deepEqual(await found({ index }, "second"), ["New second."]);
  });

  async function killAfter(work: ChildWork, on: string, nth: number): Promise<void> {
    const child = spawn(process.execPath, [CHILD, JSON.stringify(work)], { stdio: "inherit" });
    const ended = once(child, "exit");
    const pass = (body: unknown) => body;
    const kill = async (body: unknown) => {
      child.kill("SIGKILL");
      await ended;
      return body;
    };
    if (nth > 1) at.proxy.inject({ on, times: nth - 1, act: { kind: "rewrite", rewrite: pass } });
    at.proxy.inject({ on, times: 1, act: { kind: "rewrite", rewrite: kill } });
    const [, signal] = (await ended) as [number | null, string | null];
    assert.equal(signal, "SIGKILL");
    at.proxy.calm();
  }
});
