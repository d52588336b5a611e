import { extractBench } from "./extract.ts";
import { firstCrawlBench } from "./first-crawl.ts";
import { firstFolderBench } from "./first-folder.ts";
import { foldersBench } from "./folders.ts";
import { generationsBench } from "./generations.ts";
import { healingBench } from "./healing.ts";
import { httpBench } from "./http.ts";
import { noChangeBench } from "./no-change.ts";
import { postgresBench } from "./postgres.ts";
import { registryBench } from "./registry.ts";
import { searchBench } from "./search.ts";
import { verifyBench } from "./verify.ts";
import { watchBench } from "./watch.ts";
import { webBench } from "./web.ts";

/** Every figure is a ratio measured side by side in this very run: absolute times say little on a shared machine. */
const BENCHES: Readonly<Record<string, () => Promise<void>>> = {
  "no-change": noChangeBench,
  "first-crawl": firstCrawlBench,
  extract: extractBench,
  generations: generationsBench,
  search: searchBench,
  postgres: postgresBench,
  http: httpBench,
  web: webBench,
  folders: foldersBench,
  "first-folder": firstFolderBench,
  healing: healingBench,
  watch: watchBench,
  registry: registryBench,
  verify: verifyBench,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in BENCHES));
if (unknown.length > 0) {
  process.stderr.write(`There is no bench ${unknown.join(", ")}. There are: ${Object.keys(BENCHES).join(", ")}\n`);
  process.exitCode = 2;
} else {
  for (const [name, run] of Object.entries(BENCHES)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    process.stdout.write(`\n== ${name} ==\n`);
    await run();
  }
}
