import { mkdir } from "node:fs/promises";
import type { SourceId, VectorStoreId } from "../../src/contracts/ids.ts";
import { DEMO, never, openBackend, openIndex, writeDocument } from "./embedded-fixture.ts";

/** Opens a store that others open at the same moment, and commits two drafts of its own source. */
const [indexFolder = "", store = "", filesFolder = "", source = ""] = process.argv.slice(2);
await mkdir(filesFolder, { recursive: true });
const backend = openBackend(indexFolder);
const index = await openIndex(backend, store as VectorStoreId, DEMO);
for (const word of ["firstword", "secondword"]) {
  const draft = await index.draft(source as SourceId);
  for (let i = 0; i < 450; i++) {
    await draft.put(await writeDocument(filesFolder, `${source}${i}`, `The ${word} of ${source} number ${i}.`), never);
  }
  const { failed } = await draft.commit(never);
  if (failed.length > 0) throw new Error(`commit ${source}: ${failed[0]?.reason}`);
}
await backend.close();
