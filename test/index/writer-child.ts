import { mkdir } from "node:fs/promises";
import type { SourceId } from "../../src/contracts/ids.ts";
import { never, openIndexIn, openStores, writeDocument } from "./index-fixture.ts";

/** Opens a store that others open at the same moment, and commits two drafts of its own source. */
const [indexFolder = "", filesFolder = "", source = ""] = process.argv.slice(2);
await mkdir(filesFolder, { recursive: true });
const provider = openStores(indexFolder);
const index = openIndexIn(provider);
for (const word of ["firstword", "secondword"]) {
  const draft = await index.draft(source as SourceId);
  for (let i = 0; i < 450; i++) {
    await draft.put(await writeDocument(filesFolder, `${source}${i}`, `The ${word} of ${source} number ${i}.`), never);
  }
  const { failed } = await draft.commit(never);
  if (failed.length > 0) throw new Error(`commit ${source}: ${failed[0]?.reason}`);
}
await provider.close();
