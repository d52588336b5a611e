import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { serveHttp } from "../../src/http/serve-http.ts";
import { BRISK, DOMAIN, World } from "../engine/world.ts";
import { parseDomain } from "../kinds.ts";
import { sha256 } from "./in-step.ts";
import { type SourceView, sourceView } from "./source-view.ts";

export const DOCS = "/sites/demo/SELFTEST_DOCS";
export const LIST = "/sites/demo/Lists/SELFTEST_LIST";

export type SourceName = "files_all" | "files_crawl1" | "lists_all" | "lists_active";

/** The fixture of the acceptance list, and the server that is asked about it. */
export interface Acceptance {
  readonly world: World;
  readonly sources: Readonly<Record<SourceName, SourceView>>;
  /** `get("crawl", { scope: "files" })`: an endpoint of the crawler, with the domain unless told otherwise. */
  get(action: string, parameters?: Readonly<Record<string, string>>): Promise<Answer>;
  /** The same, and it must go well. */
  run(action: string, parameters?: Readonly<Record<string, string>>): Promise<Answer>;
  ask(path: string): Promise<Answer>;
  /** Rows of files_map.csv by source. */
  rows(): Promise<Record<SourceName, number>>;
  /** Every file below the storage folder but jobs, with its hash. */
  traces(): Promise<Record<string, string>>;
  close(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly ok: boolean;
  readonly error: string;
  readonly result: { readonly ok: boolean; readonly error: string; readonly data: Record<string, unknown> };
  readonly data: Record<string, unknown>;
}

const FILES: readonly [path: string, crawl: number][] = [
  ["file1.txt", 1],
  ["file2.txt", 1],
  ["file3.txt", 1],
  ["file4.txt", 0],
  ["file5.txt", 0],
  ["file6.txt", 0],
  ["file_测试.txt", 1],
  ["subfolder/file1.txt", 1],
];

export async function openAcceptance(options: { readonly empty?: boolean } = {}): Promise<Acceptance> {
  const world = await World.open({ pace: BRISK });
  await plant(world, options.empty ?? false);
  const server = await serveHttp(world.app, { host: "127.0.0.1", port: 0 });
  const sources = {
    files_all: sourceView(world, "file_sources", "files_all", DOCS),
    files_crawl1: sourceView(world, "file_sources", "files_crawl1", DOCS),
    lists_all: sourceView(world, "list_sources", "lists_all", LIST),
    lists_active: sourceView(world, "list_sources", "lists_active", LIST),
  };
  const it: Acceptance = {
    world,
    sources,
    async ask(path) {
      const response = await fetch(server.url + path);
      const body = (await response.json()) as Answer;
      return { ...body, status: response.status, result: body };
    },
    get(action, parameters = {}) {
      const query = new URLSearchParams({ domain_id: DOMAIN, format: "json", ...parameters });
      return it.ask(`/v2/crawler/${action}?${query}`);
    },
    async run(action, parameters) {
      const answer = await it.get(action, parameters);
      assert.deepEqual([answer.status, answer.ok, answer.error], [200, true, ""], action);
      return answer;
    },
    async rows() {
      const entries = Object.entries(sources).map(
        async ([name, view]) => [name, (await view.map("files_map")).length] as const,
      );
      return Object.fromEntries(await Promise.all(entries)) as Record<SourceName, number>;
    },
    traces: () => hashTree(world.storage),
    async close() {
      await server.close();
      await world.close();
    },
  };
  return it;
}

async function plant(world: World, empty: boolean): Promise<void> {
  await world.control("POST", "add-library", { path: DOCS, title: "SELFTEST_DOCS" });
  await world.control("POST", "add-column", { list: DOCS, name: "Crawl", type: "Number" });
  const columns = [{ name: "Status" }, { name: "Description" }];
  await world.control("POST", "add-list", { path: LIST, title: "SELFTEST_LIST", columns });
  if (!empty) {
    for (const [i, [path, crawl]] of FILES.entries()) await addFile(world, path, `Content of gnu${i}.`, crawl);
    await addFile(world, "non_embeddable.zip", "PK", 1);
    for (let i = 1; i <= 6; i++) await addRow(world, i, i <= 3 ? "Active" : "Inactive");
  }
  const site = { site_url: world.sandbox.siteUrl };
  const library = { ...site, sharepoint_url_part: "/SELFTEST_DOCS" };
  const list = { ...site, list_name: "SELFTEST_LIST" };
  const json = {
    ...world.domainJson(),
    vector_store_name: "SELFTEST_VS",
    file_sources: [
      { source_id: "files_all", ...library, filter: "" },
      { source_id: "files_crawl1", ...library, filter: "Crawl eq 1" },
    ],
    list_sources: [
      { source_id: "lists_all", ...list, filter: "" },
      { source_id: "lists_active", ...list, filter: "Status eq 'Active'" },
    ],
  };
  await world.app.domains.update(parseDomain(json, DOMAIN), await world.app.domains.get(DOMAIN));
}

export async function addFile(world: World, path: string, text: string, crawl: number): Promise<void> {
  await world.control("POST", "add", { path: `${DOCS}/${path}`, text, columns: { Crawl: crawl } });
}

export async function addRow(world: World, number: number, status: string): Promise<void> {
  const values = { Title: `Item yak${number}`, Status: status, Description: `Description ${number}` };
  await world.control("POST", "add-item", { list: LIST, values });
}

/** The mutations of the list: one of everything. */
export async function mutate(world: World): Promise<void> {
  await addFile(world, "file7.txt", "Content of gnu77.", 1);
  await world.control("POST", "delete", { path: `${DOCS}/file6.txt` });
  await world.control("POST", "update", { path: `${DOCS}/file1.txt`, text: "New content of okapi11." });
  await world.control("POST", "rename", { path: `${DOCS}/file2.txt`, name: "file2_renamed.txt" });
  await world.control("POST", "move", { path: `${DOCS}/file3.txt`, to: `${DOCS}/subfolder/file3.txt` });
  await addRow(world, 7, "Active");
}

async function hashTree(root: string): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(root.length + 1);
    // SQLite notes in it who reads.
    if (path.endsWith(".sqlite-shm")) continue;
    if (entry.isFile() && !path.startsWith("jobs/")) hashes[path] = sha256(await readFile(join(root, path)));
  }
  return hashes;
}
