import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { QuerySource } from "../../src/engine/query.ts";
import { distinctPath, localPath } from "../../src/mirror/local-path.ts";
import { pathOf as serverPathOf } from "../../src/sandbox/sharepoint/tenant/tenant-item.ts";
import { DOMAIN, LIBRARY, type World } from "../engine/world.ts";
import type { Row, SourceView } from "./source-view.ts";

/** What differs from "every readable document is in the index". */
export interface Expected {
  /** Paths of items that wait in `03_failed/`. */
  readonly failed?: readonly string[];
  /** Ids of files in the store that are not ours. */
  readonly foreign?: readonly string[];
  /** A file may also lie under its name marked with the item's id: it was in somebody's way when it came. */
  readonly marked?: boolean;
  /** Where the source begins; the library, unless it is another one or a folder of it. */
  readonly root?: string;
}

/** A file as the tenant has it now. */
interface TenantFile {
  readonly path: string;
  readonly serverPath: string;
  readonly uniqueId: string;
  readonly listItemId: number;
  readonly size: number;
  readonly modifiedAt: string;
  readonly content: Buffer;
}

const READABLE = /\.(txt|md|html|docx|pdf)$/i;

/**
 * The tenant is the truth: the three maps, the disk, `files_metadata.json`, the vector store and the search say exactly
 * what it says now, no more and no less.
 */
export async function assertInStep(world: World, source: SourceView, expected: Expected = {}): Promise<void> {
  const listed = tenantFiles(world, expected.root ?? LIBRARY);
  const wanted = listed.filter(({ path }) => READABLE.test(path));
  const failed = new Set(expected.failed ?? []);
  const good = wanted.filter(({ path }) => !failed.has(path));
  assertRows("sharepoint_map.csv", await source.map("sharepoint_map"), listed);
  const bad = wanted.filter(({ path }) => failed.has(path));
  await assertMirror(source, good, { folder: "02_embedded", marked: expected.marked ?? false });
  await assertMirror(source, bad, { folder: "03_failed", marked: expected.marked ?? false });
  assertRows("files_map.csv", await source.map("files_map"), wanted);
  const stored = await source.map("vectorstore_map");
  assertRows("vectorstore_map.csv", stored, wanted);
  for (const row of stored) assertStored(row, failed.has(source.below(pathOf(row, wanted))));
  await assertStore(world, source, stored, good, expected.foreign ?? []);
  await assertMetadata(world, source, stored, wanted);
  await assertSearch(world, expected.root ?? LIBRARY, good);
}

export function tenantFiles(world: World, root: string): TenantFile[] {
  const { tenant } = world.sandbox;
  const files: TenantFile[] = [];
  for (const item of tenant.itemsByUniqueId.values()) {
    if (item.kind !== "file") continue;
    const serverPath = serverPathOf(item);
    if (!serverPath.startsWith(`${root}/`)) continue;
    files.push({
      path: serverPath.slice(root.length + 1),
      serverPath,
      uniqueId: item.uniqueId,
      listItemId: item.listItemId,
      size: item.listedSize,
      modifiedAt: `${new Date(item.modifiedAtMs).toISOString().slice(0, 19)}.000000Z`,
      content: Buffer.from(item.content),
    });
  }
  return files;
}

function pathOf(row: Row, files: readonly TenantFile[]): string {
  return files.find(({ uniqueId }) => uniqueId === row["sharepoint_unique_file_id"])?.serverPath ?? "";
}

/** One row per item, under its id, with the name, size and time that SharePoint lists. */
function assertRows(map: string, rows: readonly Row[], files: readonly TenantFile[]): void {
  const told = rows.map((row) => ({
    id: row["sharepoint_unique_file_id"],
    number: row["sharepoint_listitem_id"],
    name: row["filename"],
    size: row["file_size"],
    modified: row["last_modified_utc"],
    ...("server_relative_url" in row && { path: row["server_relative_url"] }),
  }));
  const truth = files.map((file) => ({
    id: file.uniqueId,
    number: String(file.listItemId),
    name: file.path.split("/").at(-1),
    size: String(file.size),
    modified: file.modifiedAt,
    ...(!map.startsWith("vectorstore") && { path: file.serverPath }),
  }));
  assert.deepEqual(byId(told), byId(truth), map);
}

function byId<T extends { readonly id: string | undefined }>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => (a.id ?? "").localeCompare(b.id ?? ""));
}

/** Exactly these files lie in the folder, with the tenant's own bytes, where the map says they are. */
async function assertMirror(
  source: SourceView,
  files: readonly TenantFile[],
  { folder, marked }: { readonly folder: "02_embedded" | "03_failed"; readonly marked: boolean },
): Promise<void> {
  const rows = await source.map("files_map");
  const places = new Map(rows.map((row) => [row["sharepoint_unique_file_id"], row["file_relative_path"] ?? ""]));
  const root = [DOMAIN, "01_files", source.sourceId, folder, ""].join("\\");
  const found = await source.disk(folder);
  const expected = files.map(({ path, uniqueId }) => {
    const plainPlace = localPath(path, uniqueId);
    const markedPlace = distinctPath(plainPlace, uniqueId);
    return marked && found.includes(markedPlace) ? markedPlace : plainPlace;
  });
  assert.deepEqual(found, expected.toSorted(), `the files in ${folder}`);
  for (const [i, { path, uniqueId, content }] of files.entries()) {
    const local = expected[i] ?? "";
    assert.equal(places.get(uniqueId), root + local.replaceAll("/", "\\"), `files_map.csv: the place of '${path}'`);
    assert.equal(sha256(await source.read(local, folder)), sha256(content), `the bytes of '${path}' on disk`);
  }
}

function assertStored(row: Row, failed: boolean): void {
  const name = row["filename"] ?? "";
  assert.equal(row["embedding_error"] !== "", failed, `vectorstore_map.csv: embedding_error of '${name}'`);
  assert.equal(row["openai_file_id"] === "", failed, `vectorstore_map.csv: openai_file_id of '${name}'`);
  assert.equal((row["file_relative_path"] ?? "").includes("03_failed"), failed, `vectorstore_map.csv: '${name}'`);
}

/** The store lists what the map lists, each file once, under our marks. */
async function assertStore(
  world: World,
  source: SourceView,
  rows: readonly Row[],
  files: readonly TenantFile[],
  foreign: readonly string[],
): Promise<void> {
  const { vectorStoreId } = await world.app.domains.get(DOMAIN);
  const held = new Map<string, Record<string, unknown>>();
  for await (const file of world.openai().vectorStores.files.list(vectorStoreId, { limit: 100 })) {
    if (foreign.includes(file.id)) continue;
    assert.equal(file.status, "completed", file.id);
    if (file.attributes?.["source_id"] === source.sourceId) held.set(file.id, file.attributes);
  }
  const known = rows.flatMap((row) => row["openai_file_id"] || []);
  assert.deepEqual([...held.keys()].sort(), known.toSorted(), "the vector store holds what vectorstore_map.csv says");
  const marks = [...held.values()].map((mark) => `${mark["item_id"]} ${mark["content_hash"]}`).sort();
  const contents = files.map(({ uniqueId, content }) => `${uniqueId} ${sha256(content)}`).sort();
  assert.deepEqual(marks, contents, "item and content of every file in the vector store");
  for (const row of rows) if (row["openai_file_id"]) assert.equal(row["vector_store_id"], vectorStoreId);
}

/** Every document in the store has one entry, and it says what the map says. */
async function assertMetadata(
  world: World,
  source: SourceView,
  rows: readonly Row[],
  files: readonly TenantFile[],
): Promise<void> {
  const path = join(world.storage, "domains", DOMAIN, "files_metadata.json");
  const entries = JSON.parse(await readFile(path, "utf8").catch(() => "[]")) as Record<string, unknown>[];
  for (const row of rows.filter((each) => each["openai_file_id"])) {
    const own = entries.filter((entry) => entry["openai_file_id"] === row["openai_file_id"]);
    const told = own.map((entry) => ({
      id: entry["sharepoint_unique_file_id"],
      name: entry["filename"],
      place: entry["file_relative_path"],
      path: entry["server_relative_url"],
      modified: entry["last_modified_utc"],
      source: entry["source_id"],
      type: entry["source_type"],
    }));
    const expected = {
      id: row["sharepoint_unique_file_id"],
      name: row["filename"],
      place: row["file_relative_path"],
      path: pathOf(row, files),
      modified: row["last_modified_utc"],
      source: source.sourceId,
      type: source.sourceType,
    };
    assert.deepEqual(told, [expected], `files_metadata.json: '${row["filename"]}'`);
  }
}

/** Every document is found by its own words, and nothing that is found says what the tenant does not say now. */
async function assertSearch(world: World, root: string, files: readonly TenantFile[]): Promise<void> {
  const { origin } = new URL(world.sandbox.siteUrl);
  const byUrl = new Map(files.map((file) => [origin + encodePath(file.serverPath), file]));
  for (const [url, file] of byUrl) {
    const text = file.content.toString();
    const isText = /\.(txt|md|html)$/i.test(file.path);
    if (!isText || text.trim() === "") continue;
    const ours = `${origin}${encodePath(root)}/`;
    const hits = (await world.search(tellingWords(text))).filter((hit) => hit.url.startsWith(ours));
    const name = file.path.slice(file.path.lastIndexOf("/") + 1);
    const isIn = (hit: QuerySource): boolean => hit.details?.alsoIn.some((other) => other.name === name) ?? false;
    assert.ok(
      hits.some((hit) => hit.url === url || isIn(hit)),
      `search for '${tellingWords(text)}' finds '${file.path}'`,
    );
    for (const hit of hits) assertTrue(hit, byUrl);
  }
}

function assertTrue(hit: { url: string; text: string }, byUrl: ReadonlyMap<string, TenantFile>): void {
  const file = byUrl.get(hit.url) ?? assert.fail(`a ghost: ${hit.url} is not in the tenant, and says '${hit.text}'`);
  const source = plain(file.content.toString());
  for (const word of plain(hit.text).split(" ")) {
    if (/\.(txt|md|html)$/i.test(file.path))
      assert.ok(source.includes(word), `'${file.path}' does not say '${word}' any more: ${hit.text}`);
  }
}

function plain(text: string): string {
  return text
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
    .toLowerCase();
}

/** Words no other document has: those with a number in them; otherwise all. */
function tellingWords(text: string): string {
  const words = text.replaceAll(/<[^>]*>/g, " ");
  return words.match(/\p{L}+\d[\p{L}\d]*/gu)?.join(" ") ?? plain(words).slice(0, 300);
}

function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
