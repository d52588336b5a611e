import { LIBRARY, never, openIndexIn, openStores, writeDocument } from "./index-fixture.ts";

/** Puts documents into a draft until it is killed, and says after each how many it has put. */
const [indexFolder = "", filesFolder = ""] = process.argv.slice(2);
const draft = await openIndexIn(openStores(indexFolder)).draft(LIBRARY);
for (let put = 1; ; put++) {
  await draft.put(await writeDocument(filesFolder, `a${put % 500}`, `The killedword ${put} stands.`), never);
  process.stdout.write(`${put}\n`);
}
