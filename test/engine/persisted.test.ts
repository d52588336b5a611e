import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { toFile } from "openai";
import { parseDomainInput } from "../kinds.ts";
import { World } from "./world.ts";

const PAGES = fileURLToPath(new URL("../../docs/formats/", import.meta.url));

/** Every file that may lie below the storage folder, the page about it, and the words by which the page names it. */
const KNOWN: readonly [path: RegExp, page: string, words: string][] = [
  [/^domains\/\w+\/domain\.json$/, "domain-json.md", "domain.json"],
  [/^domains\/\w+\/files_metadata\.json$/, "files-metadata.md", "files_metadata.json"],
  [/^domains\/\.lockstep\/locks\/\w+\/#$/, "domain-json.md", "domains/.lockstep/locks/<id>/"],
  [/^domains\/\.lockstep\/vector-stores\.lock\/#$/, "domain-json.md", "domains/.lockstep/vector-stores.lock/"],
  [/^<source>\/sharepoint_map\.csv$/, "map-files.md", "sharepoint_map.csv"],
  [/^<source>\/files_map\.csv$/, "map-files.md", "files_map.csv"],
  [/^<source>\/vectorstore_map\.csv$/, "map-files.md", "vectorstore_map.csv"],
  [/^reports\/crawls\/[\w-]+\.zip$/, "reports.md", "reports/crawls/"],
  [/^crawler\/\w+\/ledger\.sqlite(-wal|-shm)?$/, "ledger.md", "crawler/<DOMAIN_ID>/ledger.sqlite"],
  [/^<source>\/\.lockstep\/maps\.lock\/#$/, "leases.md", ".lockstep/maps.lock/"],
  [/^<source>\/02_embedded\/./, "mirror.md", "02_embedded/"],
  [/^<source>\/03_failed\/./, "mirror.md", "03_failed/"],
  [/^jobs\/crawler\/[\d_-]+_\[crawl\]_\[jb_\d+\]_\[\w+\]\.completed$/, "job-files.md", "jobs/<router>/"],
  [/^jobs\/\.lockstep\/job-ids\/#$/, "job-files.md", "jobs/.lockstep/job-ids/<number>"],
  [/^security\/earlier-roots\.json$/, "keys.md", "security/earlier-roots.json"],
  [/^index\/catalog\.sqlite(-wal|-shm)?$/, "backend-sqlite.md", "index/catalog.sqlite"],
  [/^index\/answers\.sqlite(-wal|-shm)?$/, "answers.md", "answers.sqlite"],
  [/^index\/files\/file-\w+$/, "backend-sqlite.md", "files/<file id>"],
  [/^index\/vs_\w+\.sqlite(-wal|-shm)?$/, "index-sqlite.md", "index/<vector_store_id>.sqlite"],
];

test("every file that a crawl leaves has a page that names it", async () => {
  const world = await World.open();
  after(() => world.close());
  await world.change("add", { path: "a/good.txt", text: "The axolotl budget is 12 euros." });
  await world.change("add", { path: "broken.pdf", text: "no PDF at all" });
  await world.app.domains.create(parseDomainInput({ domain_id: "OTHER", name: "Other", vector_store_id: "vs_other" }));
  await world.crawl();
  await world.crawl();
  await world.openai().files.create({ file: await toFile(Buffer.from("by hand"), "b.txt"), purpose: "assistants" });

  const found = (await filesBelow(world.storage)).filter((path) => path !== "sandbox.pem");
  const unknown = found.filter((path) => !KNOWN.some(([pattern]) => pattern.test(path)));
  assert.deepEqual(unknown, [], "files without a row in the table of this test, and so without a page");
  const unused = KNOWN.filter(([pattern]) => !found.some((path) => pattern.test(path)));
  assert.deepEqual(unused, [], "rows for files that nobody writes any more");

  const list = await readFile(join(PAGES, "README.md"), "utf8");
  for (const [, page, words] of KNOWN) {
    assert.ok((await readFile(join(PAGES, page), "utf8")).includes(words), `${page} does not name ${words}`);
    assert.ok(list.includes(page), `README.md does not list ${page}`);
  }
});

/** Relative paths with `/`, the source's folder as `<source>`, and numbered claims as `#`. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .map((path) => path.replace(/^crawler\/\w+\/01_files\/\w+\//, "<source>/").replace(/\/\d+(\.free)?$/, "/#"));
  return [...new Set(paths)].sort();
}
