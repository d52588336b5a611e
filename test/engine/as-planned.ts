import assert from "node:assert/strict";
import OpenAI from "openai";
import type { App } from "../../src/app/app.ts";
import type { DomainId } from "../../src/contracts/ids.ts";
import type { CrawlResult, PlannedChange, SourceResult } from "../../src/engine/crawl-request.ts";
import { decodeCsvRow } from "../../src/lib/csv.ts";

type Rows = ReadonlyMap<string, Readonly<Record<string, string>>>;
export interface Maps {
  /** Ids of the documents that the vector store has, whatever the maps say. */
  readonly stored: ReadonlySet<string>;
  /** By the name of a map file, `05_folders/docs/files_map.csv`: its rows by item. */
  readonly maps: ReadonlyMap<string, Rows>;
}

/** What the domain's vector store has and its map files say now, of every kind of source. */
export async function readMaps(app: App, domainId: DomainId): Promise<Maps> {
  const stored = await storedIds(app, domainId);
  const maps = new Map<string, Rows>();
  for (const { name, content } of await app.mapFiles(domainId)) {
    const text = await new Response(ReadableStream.from(content())).text();
    const [header = [], ...rows] = rowsOf(text);
    const named = rows.map((row) => Object.fromEntries(row.map((field, i) => [header[i] ?? "", field])));
    maps.set(name, new Map(named.map((row) => [row["sharepoint_unique_file_id"] ?? "", row])));
  }
  return { stored, maps };
}

async function storedIds({ domains, wire }: App, domainId: DomainId): Promise<ReadonlySet<string>> {
  const { vectorStoreId } = await domains.get(domainId);
  const ids = new Set<string>();
  if (!vectorStoreId) return ids;
  const send = async (url: string | URL | Request, init?: RequestInit) => await wire(new Request(url, init));
  const client = new OpenAI({ apiKey: "any", baseURL: "http://lockstep/v1", fetch: send, maxRetries: 0 });
  for await (const { id } of client.vectorStores.files.list(vectorStoreId, { limit: 100 })) ids.add(id);
  return ids;
}

/** Fields in quotes may hold line ends. */
function rowsOf(text: string): string[][] {
  const rows: string[] = [];
  for (const line of text.split("\r\n")) {
    const open = rows.at(-1);
    const isOpen = open !== undefined && (open.split('"').length - 1) % 2 === 1;
    if (isOpen) rows[rows.length - 1] = `${open}\r\n${line}`;
    else rows.push(line);
  }
  return rows.filter((row) => row !== "").map(decodeCsvRow);
}

interface Effects {
  readonly fetched: string[];
  readonly moved: string[];
  readonly removed: string[];
}

/**
 * Names of the items whose rows say that something was done to them. `made`: the columns that are new when the item was fetched or
 * embedded. `stored`: what a row says that was lost, or that a killed crawl did not write, is not new, but what the store had already.
 */
function effectsOf(before: Rows, after: Rows, made: readonly string[], stored: Maps["stored"] = new Set()): Effects {
  const effects: Effects = { fetched: [], moved: [], removed: [] };
  for (const [id, row] of after) {
    const was = before.get(id);
    const name = row["filename"] ?? "";
    const isMade = made.some((column) => {
      const value = row[column] ?? "";
      return value !== "" && value !== was?.[column] && !stored.has(value);
    });
    if (isMade) effects.fetched.push(name);
    else if (was && placeOf(was) !== placeOf(row)) effects.moved.push(name);
    if (was && made.length > 0 && made.every((column) => was[column] !== "" && row[column] === ""))
      effects.removed.push(name);
  }
  for (const [id, row] of before) if (!after.has(id)) effects.removed.push(row["filename"] ?? "");
  return effects;
}

/** At the source, where the row has that; otherwise on our disk, where into 03_failed and back is no move that readers see. */
function placeOf(row: Readonly<Record<string, string>>): string {
  const file = row["file_relative_path"]?.replace(/\\0[123]_(originals|embedded|failed)\\/, "\\");
  return `${row["filename"]} ${row["server_relative_url"] ?? file}`;
}

/**
 * What the run did is what the dry run before it had planned, item by item. What only the bytes tell is a condition: whether a fetched file has
 * other content than before, and any text, and so whether it is embedded.
 */
export function assertAsPlanned(dry: CrawlResult, real: CrawlResult, before: Maps, after: Maps): void {
  for (const source of real.sources) {
    const plan = dry.sources.find(
      (one) => one.source_id === source.source_id && one.source_type === source.source_type,
    );
    assert.ok(plan, `the dry run says nothing of ${source.source_id}`);
    assert.equal(plan.planned_more, 0, "the plan has more than fits into a result");
    try {
      assertSource(plan, source, before, after);
    } catch (error) {
      throw new Error(`not as planned: ${JSON.stringify(plan, null, 1)}`, { cause: error });
    }
  }
}

function assertSource(plan: SourceResult, source: SourceResult, before: Maps, after: Maps): void {
  const about = `${source.source_type} ${source.source_id}`;
  assert.equal(plan.complete, source.complete, about);
  assert.deepEqual(plan.download, source.download, `${about}: download`);
  const mapsOf = (map: string): [Rows, Rows] => {
    const isOurs = (name: string): boolean => name.endsWith(`/${source.source_id}/${map}`);
    const [was, is] = [before, after].map(({ maps }) => [...maps].find(([name]) => isOurs(name))?.[1] ?? new Map());
    return [was as Rows, is as Rows];
  };
  const files = effectsOf(...mapsOf("files_map.csv"), ["downloaded_utc"]);
  assert.deepEqual(sorted(files.fetched), named(plan, "download", "added", "changed"), `${about}: fetched`);
  assert.deepEqual(sorted(files.moved), named(plan, "download", "moved"), `${about}: moved`);
  const documents = effectsOf(...mapsOf("vectorstore_map.csv"), ["openai_file_id"], before.stored);
  // Of what a cancelled run saw and did not fetch, or removed from disk alone, there are rows in the other maps only.
  const gone = named(plan, "download", "removed");
  assert.deepEqual(without(files.removed, gone), [], `${about}: removed, and not planned`);
  const traces = [...effectsOf(...mapsOf("sharepoint_map.csv"), []).removed, ...files.removed, ...documents.removed];
  assert.deepEqual(without(gone, traces), [], `${about}: to be removed, and is not`);
  const puts = named(plan, "embed", "added", "changed");
  assert.deepEqual(without(documents.fetched, puts), [], `${about}: embedded, and not planned`);
  // A document may have had no row, or one with an earlier name: of removals, only the count tells.
  const left = source.embed.removed - plan.embed.removed;
  assert.ok(left >= 0 && left <= puts.length, `${about}: ${left} more left the index than planned`);
  const moved = named(plan, "embed", "moved");
  assert.deepEqual(without(without(documents.moved, moved), puts), [], `${about}: relabelled, and not planned`);
  assert.equal(plan.embed.held, source.embed.held, `${about}: held`);
}

function named({ planned = [] }: SourceResult, step: PlannedChange["step"], ...changes: string[]): string[] {
  return sorted(planned.filter((one) => one.step === step && changes.includes(one.change)).map(({ name }) => name));
}

function sorted(names: readonly string[]): string[] {
  return [...names].sort();
}

/** What is left when each of `others` takes one of its like away. */
function without(names: readonly string[], others: readonly string[]): string[] {
  const left = [...names];
  for (const other of others) if (left.includes(other)) left.splice(left.indexOf(other), 1);
  return sorted(left);
}
