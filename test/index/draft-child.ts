import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { DEMO, LIBRARY, never, openBackend, openIndex, writeDocument } from "./embedded-fixture.ts";

/** Puts documents into a draft until it is killed, and says after each how many it has put. */
const [indexFolder = "", store = "", filesFolder = ""] = process.argv.slice(2);
const index = await openIndex(openBackend(indexFolder), store as VectorStoreId, DEMO);
const draft = await index.draft(LIBRARY);
for (let put = 1; ; put++) {
  await draft.put(await writeDocument(filesFolder, `a${put % 500}`, `The killedword ${put} stands.`), never);
  process.stdout.write(`${put}\n`);
}
