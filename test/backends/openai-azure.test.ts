// A store in Azure OpenAI is brought in step at every form of its address.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createOpenAiBackend } from "../../src/backends/openai/openai-backend.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { DocumentFile, Index } from "../../src/contracts/search-index.ts";
import { DOMAIN, found, holdings, never, openUploadRecords, putAndCommit, SOURCE, sha256Of } from "./openai-bench.ts";
import { startWireService, type WireService } from "./openai-wire-service.ts";

describe("Azure OpenAI", () => {
  let folder = "";
  let service: WireService;
  let notes: ReturnType<typeof openUploadRecords>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-azure-"));
    notes = openUploadRecords(folder);
    service = await startWireService(join(folder, "service"), { azure: true });
  });
  after(async () => {
    await service.close();
    await notes.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function makeFile(item: string, text: string): Promise<DocumentFile> {
    const path = join(folder, `${item}.md`);
    await writeFile(path, text);
    const [name, modifiedAt] = [`${item}.md`, "2026-01-15T10:00:00.000000Z"];
    const label = { name, path: name, url: `https://x.test/${name}`, fileType: "md", modifiedAt, attributes: {} };
    return { itemId: item as ItemId, path, sha256: sha256Of(text), bytes: Buffer.byteLength(text), label };
  }

  async function replaceAndRemove(index: Index): Promise<void> {
    await putAndCommit({ index }, await makeFile("a", "Old otters."), await makeFile("b", "Beavers build."));
    const draft = await index.draft(SOURCE);
    await draft.put(await makeFile("a", "New otters."), never);
    await draft.remove("b" as ItemId);
    assert.deepEqual((await draft.commit(never)).failed, []);
  }

  for (const apiVersion of ["v1", "2025-04-01-preview"]) {
    const address = apiVersion === "v1" ? "the v1 address" : `the dated address of ${apiVersion}`;
    test(`is brought in step at ${address}, whatever its ids look like, with or without batches`, async () => {
      const options = { kind: "azure_openai", apiKey: "test", baseUrl: service.url, apiVersion } as const;
      const backend = createOpenAiBackend(options, notes);
      const storeId = await backend.createVectorStore("demo");
      const index = await backend.openIndex(storeId, DOMAIN);
      assert.ok(index);
      await replaceAndRemove(index);
      assert.deepEqual(await found({ index }, "otters"), ["New otters."]);
      assert.deepEqual(await found({ index }, "Beavers"), []);
      const [ref, ...more] = await holdings({ index });
      assert.deepEqual([ref?.itemId, more], ["a", []]);
      assert.match(ref?.fileId ?? "", /^assistant-/);
      await backend.deleteVectorStore(storeId);
      assert.equal(await backend.openIndex(storeId, DOMAIN), undefined);
      await backend.close();
    });
  }
});
