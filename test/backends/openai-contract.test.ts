// A remote vector store keeps the contract of a search index.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOpenAiBackend } from "../../src/backends/openai/openai-backend.ts";
import { indexSuite } from "../contracts/index-suite.ts";
import { openUploadRecords } from "./openai-bench.ts";
import { startWireService } from "./openai-wire-service.ts";

indexSuite("OpenAI over the network", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-openai-"));
  const service = await startWireService(folder);
  const notes = openUploadRecords(folder);
  const backend = createOpenAiBackend({ kind: "openai", apiKey: "test", baseUrl: `${service.url}/v1` }, notes);
  const storeId = await backend.createVectorStore("demo");
  return {
    async openIndex(domain) {
      const index = await backend.openIndex(storeId, domain);
      assert.ok(index);
      return index;
    },
    async close() {
      await backend.close();
      await notes.close();
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
});
