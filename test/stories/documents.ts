import assert from "node:assert/strict";
import { DOMAIN } from "../engine/world.ts";
import { sha256 } from "./in-step.ts";
import type { SourceView } from "./source-view.ts";
import type { Stage } from "./stage.ts";

/** Documents of a source whose items are no files, by path below `02_embedded/`: a word each of them says. */
export type Documents = Readonly<Record<string, string>>;

/** Exactly these documents are on disk, in the maps, in the metadata, in the store and in search. */
export async function assertDocuments(stage: Stage, source: SourceView, documents: Documents): Promise<void> {
  const paths = Object.keys(documents).sort();
  assert.deepEqual(await source.disk(), paths, "the files in 02_embedded");
  assert.deepEqual(await source.disk("03_failed"), [], "the files in 03_failed");
  const seen = await source.map("sharepoint_map");
  const rows = await source.map("vectorstore_map");
  const ids = seen.map((row) => row["sharepoint_unique_file_id"]).sort();
  for (const told of [rows, await source.map("files_map")]) {
    assert.deepEqual(told.map((row) => row["sharepoint_unique_file_id"]).sort(), ids, "the items in the maps");
    const places = told.map((row) => (row["file_relative_path"] ?? "").split("\\").slice(4).join("/"));
    assert.deepEqual(places.sort(), paths, "the places in the maps");
  }
  await assertHeld(stage, source, documents);
  const entries = await stage.metadata();
  for (const [path, word] of Object.entries(documents)) {
    const row = rows.find((each) => each["file_relative_path"]?.endsWith(`\\${path.replaceAll("/", "\\")}`));
    assert.ok((await source.read(path)).includes(word), `'${path}' on disk says '${word}'`);
    const address = seen.find((each) => each["sharepoint_unique_file_id"] === row?.["sharepoint_unique_file_id"]);
    const [hit] = await stage.world.search(word);
    assert.equal(hit?.url, address?.["url"], `search for '${word}' leads to '${path}'`);
    assert.equal(hit?.name, address?.["filename"]);
    const own = entries.filter((entry) => entry["openai_file_id"] === row?.["openai_file_id"]);
    assert.deepEqual(
      own.map((entry) => [entry["file_relative_path"], entry["url"], entry["source_type"]]),
      [[row?.["file_relative_path"], address?.["url"], source.sourceType]],
      `files_metadata.json: '${path}'`,
    );
  }
}

async function assertHeld(stage: Stage, source: SourceView, documents: Documents): Promise<void> {
  const { vectorStoreId } = await stage.world.app.domains.get(DOMAIN);
  const held: string[] = [];
  for await (const file of stage.world.openai().vectorStores.files.list(vectorStoreId, { limit: 100 })) {
    if (file.attributes?.["source_id"] !== source.sourceId) continue;
    held.push(`${file.id} ${file.attributes["content_hash"]}`);
  }
  const hashes = new Map<string, string>();
  for (const path of Object.keys(documents)) hashes.set(path, sha256(await source.read(path)));
  const expected = (await source.map("vectorstore_map")).map((row) => {
    const path = (row["file_relative_path"] ?? "").split("\\").slice(4).join("/");
    return `${row["openai_file_id"]} ${hashes.get(path)}`;
  });
  assert.deepEqual(held.sort(), expected.sort(), "file and content of every document in the vector store");
}
