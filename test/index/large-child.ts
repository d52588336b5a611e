import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { LIBRARY, never, openIndexIn, openStores, writeDocument } from "./index-fixture.ts";
import { largeText } from "./large-text.ts";

/** Begins to write a large document, says after each slice that it is about to embed another, and stops for ever at the third. */
const [indexFolder = "", filesFolder = ""] = process.argv.slice(2);
const ngrams = createNgramEmbedder();
let slices = 0;
const index = openIndexIn(
  openStores(indexFolder, {
    ...ngrams,
    embed(texts) {
      slices += 1;
      if (slices < 3) return ngrams.embed(texts);
      process.stdout.write("stopped\n");
      return new Promise(() => setInterval(() => undefined, 1000));
    },
  }),
);
const draft = await index.draft(LIBRARY);
await draft.put(await writeDocument(filesFolder, "large", largeText(1700)), never);
await draft.commit(never);
