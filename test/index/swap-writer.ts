import { mkdir } from "node:fs/promises";
import type { IndexDraft } from "../../src/contracts/search-index.ts";
import { LIBRARY, never, openIndexIn, openStores, writeDocument } from "./index-fixture.ts";
import { SWAPPED, swapText } from "./swap-documents.ts";

/**
 * Commits generations `from` to `to`, each of which rewrites every document. With `hang`, the draft after the last one is
 * left half-way, with many of its rows on disk, and waits there for its end.
 */
const [indexFolder = "", filesFolder = "", from = "", to = "", hang = ""] = process.argv.slice(2);
await mkdir(filesFolder, { recursive: true });
const provider = openStores(indexFolder);
const index = openIndexIn(provider);

async function rewrite(draft: IndexDraft, generation: number): Promise<void> {
  for (let i = 0; i < SWAPPED; i++) {
    await draft.put(await writeDocument(filesFolder, `d${i}`, swapText(i, generation)), never);
  }
}

for (let generation = Number(from); generation <= Number(to); generation++) {
  const draft = await index.draft(LIBRARY);
  await rewrite(draft, generation);
  const { failed } = await draft.commit(never);
  if (failed.length > 0) throw new Error(`commit ${generation}: ${failed[0]?.reason}`);
}
if (hang !== "") {
  const draft = await index.draft(LIBRARY);
  await rewrite(draft, Number(to) + 1);
  for (let i = 0; i < 850; i++) {
    await draft.put(await writeDocument(filesFolder, `x${i}`, swapText(0, Number(to) + 1)), never);
  }
  process.stdout.write("half-way\n");
  setInterval(() => undefined, 1000);
} else {
  await provider.close();
}
