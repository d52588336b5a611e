// Files are copied between vector stores, and removed from a target only when asked to.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type InventoryReply, type InventoryStage, openInventoryStage } from "./inventory-stage.ts";

describe("/v2/inventory/vector_stores/replicate", () => {
  let stage: InventoryStage;
  let [a, b, c, extra] = ["", "", "", ""];
  before(async () => {
    stage = await openInventoryStage();
    [a, b, c, extra] = [
      await stage.upload("a.txt"),
      await stage.upload("b.txt"),
      await stage.upload("c.txt"),
      await stage.upload("extra.txt"),
    ];
  });
  after(() => stage.close());

  async function replicate(sources: string[], targets: string[], more = ""): Promise<InventoryReply["json"]> {
    const query = `source_vector_store_ids=${sources}&target_vector_store_ids=${targets}${more}`;
    const { status, json } = await stage.ask(`GET vector_stores/replicate?${query}`);
    assert.equal(status, 200);
    return json;
  }
  const REMOVE = "&remove_target_files_not_in_sources=true";

  it("adds what a target lacks, each file once, with attributes and chunking", async () => {
    const one = await stage.store("one", [a]);
    const two = await stage.store("two", [a, b]);
    const chunking = { max_chunk_size_tokens: 200, chunk_overlap_tokens: 50 };
    await stage.client.vectorStores.files.createAndPoll(one, {
      file_id: c,
      attributes: { team: "HR", year: 2026 },
      chunking_strategy: { type: "static", static: chunking },
    });
    const target = await stage.store("target", [b, extra]);
    const empty = await stage.store("empty");
    const { ok, data } = await replicate([one, two], [target, empty]);
    assert.deepEqual([ok, data.files, data.left_out], [true, 3, 0]);
    assert.deepEqual(data.targets, [
      { vector_store_id: target, unchanged: 1, added: 2, removed: 0, failed: [] },
      { vector_store_id: empty, unchanged: 0, added: 3, removed: 0, failed: [] },
    ]);
    assert.deepEqual(await stage.held(target), [a, b, c, extra].sort());
    const copied = await stage.client.vectorStores.files.retrieve(c, { vector_store_id: empty });
    assert.deepEqual([copied.status, copied.attributes], ["completed", { team: "HR", year: 2026 }]);
    assert.deepEqual(copied.chunking_strategy, { type: "static", static: chunking });
    const found = await stage.client.vectorStores.search(empty, { query: "what c.txt says" });
    assert.ok(found.data.some(({ file_id }) => file_id === c));
  });

  it("removes what no source has only when asked to, and tells the plan in a dry run", async () => {
    const source = await stage.store("source", [a, b]);
    const target = await stage.store("target", [b, extra]);
    const planned = await replicate([source], [target], `${REMOVE}&dry_run=true`);
    assert.deepEqual(planned.data.targets, [
      { vector_store_id: target, unchanged: 1, added: 1, removed: 1, failed: [] },
    ]);
    assert.deepEqual(await stage.held(target), [b, extra].sort());
    const { ok, data } = await replicate([source], [target], REMOVE);
    assert.deepEqual([ok, data.targets?.[0]?.removed], [true, 1]);
    assert.deepEqual(await stage.held(target), [a, b].sort());
    assert.equal((await stage.ask(`GET files/get?file_id=${extra}`)).status, 200);
    const again = await replicate([source], [target], REMOVE);
    assert.deepEqual([again.data.targets?.[0]?.added, again.data.targets?.[0]?.removed], [0, 0]);
  });

  it("never empties a target because the sources are empty", async () => {
    const [source, target] = [await stage.store("nothing"), await stage.store("full", [a])];
    const { ok, error } = await replicate([source], [target], REMOVE);
    assert.deepEqual(
      [ok, error],
      [false, "The source vector stores hold no file, so nothing was removed from the targets."],
    );
    assert.deepEqual(await stage.held(target), [a]);
  });

  it("refuses what cannot be before anything changes", async () => {
    const [source, target] = [await stage.store("s", [a]), await stage.store("t")];
    const refused = async (query: string): Promise<[number, string]> => {
      const { status, json } = await stage.ask(`GET vector_stores/replicate?${query}`);
      return [status, String(json.error)];
    };
    const both = `source_vector_store_ids=${source},${target}&target_vector_store_ids=${target}`;
    assert.deepEqual(await refused(both), [400, `Vector store '${target}' is both a source and a target.`]);
    const unknown = `source_vector_store_ids=${source}&target_vector_store_ids=${target},vs_nobody`;
    assert.deepEqual(await refused(unknown), [404, "Vector store 'vs_nobody' does not exist."]);
    assert.deepEqual(await refused(`source_vector_store_ids=${source}`), [400, "Missing 'target_vector_store_ids'."]);
    assert.deepEqual(await stage.held(target), []);
  });

  it("is a job that names each file, and warns of a target that belongs to a domain", async () => {
    const [source, target] = [await stage.store("s", [a, b]), await stage.store("t")];
    await stage.useInDomain(target);
    const query = `source_vector_store_ids=${source}&target_vector_store_ids=${target}&format=stream`;
    const { text } = await stage.ask(`GET vector_stores/replicate?${query}`);
    assert.match(text, /WARNING: Target '\w+' belongs to domain 'HANDBOOK'/);
    assert.match(
      text,
      /\[ 1 \/ 2 \] Adding file '[ab]\.txt' \(ID='file-\w+'\) to 'vs_\w+'\.\.\.\n\n.*\n.*\ndata: {3}OK\./,
    );
    assert.match(text, /\[ 2 \/ 2 \]/);
    const [job] = await stage.app.jobs.list({});
    assert.deepEqual([job?.router, job?.action, job?.object], ["inventory/vector_stores", "replicate", target]);
  });

  it("leaves out what failed in its source, and keeps it where a target has it", async () => {
    const broken = await stage.upload("broken.pdf", "this is no PDF");
    const [source, target] = [await stage.store("s", [a, broken]), await stage.store("t", [broken])];
    const { ok, data } = await replicate([source], [target], REMOVE);
    assert.deepEqual([ok, data.left_out], [true, 1]);
    assert.deepEqual(await stage.held(target), [a, broken].sort());
  });
});
