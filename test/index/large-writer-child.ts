import { mkdir } from "node:fs/promises";
import { LIBRARY, never, openIndexIn, openStores, writeDocument } from "./index-fixture.ts";
import { largeText } from "./large-text.ts";
import { watchGaps } from "./longest-gap.ts";

/** Commits one large document, and tells how long it wrote and how long its event loop stood still at most. */
const [indexFolder = "", filesFolder = ""] = process.argv.slice(2);
await mkdir(filesFolder, { recursive: true });
const provider = openStores(indexFolder);
const draft = await openIndexIn(provider).draft(LIBRARY);
await draft.put(await writeDocument(filesFolder, "large", largeText(9000)), never);
process.stdout.write("writing\n");
const gaps = watchGaps();
const startedAt = performance.now();
const { failed } = await draft.commit(never);
const writingMs = performance.now() - startedAt;
const longestMs = await gaps.stop();
if (failed.length > 0) throw new Error(`commit large: ${failed[0]?.reason}`);
process.stdout.write(`${JSON.stringify({ writingMs, longestMs })}\n`);
await provider.close();
