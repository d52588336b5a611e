// Verify with a SharePoint library and a vector store at a service.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { verifyJob } from "../../src/app/verify-job.ts";
import type { VerifyRequest } from "../../src/engine/verify/verification.ts";
import type { VerifyResult } from "../../src/engine/verify/verify-domain.ts";
import { openStage, type Stage } from "../stories/stage.ts";
import { DOMAIN } from "./world.ts";

/** A library of SharePoint, and a vector store at a service. */
let stage: Stage;
beforeEach(async () => {
  stage = await openStage({}, "remote");
  await stage.plant();
});
afterEach(() => stage.close());

async function verify(wishes: Partial<VerifyRequest> & { readonly repair?: boolean } = {}) {
  const { repair = false, ...rest } = wishes;
  const { start, work } = await verifyJob(stage.world.app, { domainId: DOMAIN, download: false, ...rest }, { repair });
  const { result } = await (await stage.world.app.runner.start({ ...start, endpoint: "test" }, work)).done;
  const data = result?.data as VerifyResult | undefined;
  const { statement } = data?.certificate ?? assert.fail(result?.error);
  const told = statement.sources.flatMap(({ differences }) =>
    differences.map(({ layer, part, path }) => [layer, part, path].join(" ")),
  );
  const behind = statement.sources.flatMap((source) => source.behind.map(({ path, detail }) => `${path}: ${detail}`));
  return { verdict: statement.verdict, told: told.sort(), behind: behind.sort(), statement };
}

async function storeFile(path: string): Promise<{ readonly store: string; readonly fileId: string }> {
  const { vectorStoreId: store } = await stage.world.app.domains.get(DOMAIN);
  return { store, fileId: (await stage.fileIds())[path] ?? assert.fail(`no file id of ${path}`) };
}

test("library and remote store agree, by listing and by bytes", async () => {
  for (const download of [false, true]) {
    const { verdict, told, statement } = await verify({ download });
    assert.deepEqual([verdict, told], ["agrees", []]);
    const [source] = statement.sources;
    assert.deepEqual([source?.counts.listed, source?.counts.documents, source?.counts.searched], [3, 3, 3]);
    assert.match(source?.based_on.index ?? "", /^files, states, attributes/);
    assert.equal(source?.roots.source.root === source?.roots.mirror.root, download);
  }
});

test("what users changed in the library since is behind", async () => {
  await stage.change("update", { path: "Travel/policy.txt", text: "A hotel night is approved by the giraffe desk." });
  await stage.change("add", { path: "new.txt", text: "The numbat desk is open." });
  const { verdict, told, behind } = await verify();
  assert.deepEqual([verdict, told], ["behind", []]);
  assert.deepEqual(
    behind.map((line) => line.split(":")[0]),
    ["Travel/policy.txt", "new.txt"],
  );
});

test("an attribute that was changed, a file that was taken out and one too many are named, and repaired", async () => {
  const client = stage.world.openai();
  const policy = await storeFile("Travel/policy.txt");
  const stored = await client.vectorStores.files.retrieve(policy.fileId, { vector_store_id: policy.store });
  await client.vectorStores.files.update(policy.fileId, {
    vector_store_id: policy.store,
    attributes: { ...stored.attributes, file_type: "exe" },
  });
  assert.deepEqual((await verify()).told, ["index attributes Travel/policy.txt"]);

  const old = await storeFile("Travel/old.md");
  await client.vectorStores.files.delete(old.fileId, { vector_store_id: old.store });
  assert.deepEqual((await verify()).told, ["index attributes Travel/policy.txt", "index document Travel/old.md"]);
  const repaired = await verify({ repair: true });
  assert.deepEqual([repaired.verdict, repaired.told], ["agrees", []]);
});

test("a library that cannot be listed could not be looked at", async () => {
  await stage.world.fault({ url: "_api", times: "always" }, { status: 403, body: "{}" });
  const { verdict, behind } = await verify();
  assert.deepEqual([verdict, behind], ["could not look", []]);
});
