import { openIndexIn, openStores } from "./index-fixture.ts";
import { watched, watchOnce } from "./swap-documents.ts";

/** Searches without a pause until its standard input ends, and then says what it saw. */
const [indexFolder = ""] = process.argv.slice(2);
const provider = openStores(indexFolder);
const index = openIndexIn(provider);
let over = false;
process.stdin.on("end", () => {
  over = true;
});
process.stdin.resume();
const seen = watched();
await watchOnce(index, seen);
process.stdout.write("reading\n");
while (!over) {
  await watchOnce(index, seen);
  // Lets the end of the input be heard.
  await new Promise((resolve) => setImmediate(resolve));
}
await watchOnce(index, seen);
await provider.close();
process.stdout.write(`${JSON.stringify({ ...seen, seen: seen.seen.size })}\n`);
