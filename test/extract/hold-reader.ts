import { createExtractor } from "../../src/extract/extractor.ts";

/** A program for tests: reads one file after the other, and says so; it must end by itself when it is done. */
const extractor = createExtractor();
for (const path of process.argv.slice(2)) {
  const { markdown } = await extractor.extract(path, path.split(".").at(-1) ?? "", new AbortController().signal);
  process.stdout.write(`${markdown.length}\n`);
}
