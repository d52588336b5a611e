import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach } from "node:test";
import OpenAI from "openai";
import { connect, type OpenAiOptions, type UploadRecords } from "../../src/backends/openai/connection.ts";
import { createOpenAiBackend } from "../../src/backends/openai/openai-backend.ts";
import { removeLostUploads } from "../../src/backends/openai/uploads.ts";
import type { Backend } from "../../src/contracts/backend.ts";
import { type FileId, type ItemId, parseDomainId, parseSourceId, type VectorStoreId } from "../../src/contracts/ids.ts";
import type { DocumentFile, Index } from "../../src/contracts/search-index.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";
import type { Faults } from "./faults/faults.ts";
import { type FaultProxy, startFaultProxy } from "./openai-fault-proxy.ts";
import { createVirtualClock, type VirtualClock } from "./openai-virtual-clock.ts";
import { startWireService, type WireService } from "./openai-wire-service.ts";

export const DOMAIN = parseDomainId("DEMO");
export const SOURCE = parseSourceId("library");
export const never = new AbortController().signal;

/** One fresh vector store per test, seen from both sides: the index goes through the faults, the client looks past the proxy. */
export interface Bench {
  /** Between index and service: breaks connections, answers in the service's place. */
  readonly proxy: FaultProxy;
  /** What the service itself does wrong. */
  readonly faults: Faults;
  readonly client: OpenAI;
  readonly clock: VirtualClock;
  readonly backend: Backend;
  readonly storeId: VectorStoreId;
  readonly index: Index;
  /** Where the storage is that both `notes` and other processes open. */
  readonly storage: string;
  readonly notes: UploadRecords;
  /** Another process that drives the same store: nothing in memory is shared with the first. */
  restart(): Promise<Index>;
  makeFile(item: string, text: string): Promise<DocumentFile>;
}

/** Registers the hooks; the fields are there while a test runs. */
export function useVectorStore(more: Partial<Pick<OpenAiOptions, "model">> = {}): Bench {
  const bench = {} as Bench;
  let folder: string;
  let wire: WireService;
  const opened: Backend[] = [];
  const closing: (() => Promise<void>)[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-openai-"));
    wire = await startWireService(join(folder, "service"));
  });
  after(async () => {
    await wire.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    const proxy = await startFaultProxy(wire.url);
    const clock = createVirtualClock({ patient: true });
    const storage = await mkdtemp(join(folder, "storage-"));
    const { close: closeNotes, ...notes } = openUploadRecords(storage);
    closing.push(closeNotes);
    const open = () => {
      const options = { kind: "openai", apiKey: "test", baseUrl: `${proxy.url}/v1`, clock, ...more } as const;
      const backend = createOpenAiBackend(options, notes);
      opened.push(backend);
      return backend;
    };
    const backend = open();
    const storeId = await backend.createVectorStore("demo");
    const index = await openIndex(backend, storeId);
    const client = new OpenAI({ apiKey: "test", baseURL: `${wire.url}/v1`, maxRetries: 0 });
    const makeFile = (item: string, text: string) => writeDocument(folder, item, text);
    const restart = () => openIndex(open(), storeId);
    const { faults } = wire;
    const outside = { proxy, faults, client, clock };
    const inside = { backend, storeId, index, storage, notes, restart, makeFile };
    Object.assign(bench, { ...outside, ...inside } satisfies Bench);
  });
  afterEach(async () => {
    wire.faults.stop();
    for (const backend of opened.splice(0)) await backend.close();
    for (const close of closing.splice(0)) await close();
    await bench.proxy.close();
  });
  return bench;
}

/** As compose opens them for this storage. */
export function openUploadRecords(storage: string): UploadRecords & { close(): Promise<void> } {
  const ledgers = openTestLedgers(join(storage, "crawler"));
  return { journals: ledgers.uploads, folder: join(storage, "index"), close: () => ledgers.close() };
}

async function openIndex(backend: Backend, storeId: VectorStoreId): Promise<Index> {
  const index = await backend.openIndex(storeId, DOMAIN);
  assert.ok(index);
  return index;
}

async function writeDocument(folder: string, item: string, text: string): Promise<DocumentFile> {
  const name = `${item}.md`;
  const sha256 = sha256Of(text);
  const path = join(folder, `${sha256.slice(0, 16)}-${name}`);
  await writeFile(path, text);
  const modifiedAt = "2026-01-15T10:00:00.000000Z";
  const label = { name, path: name, url: `https://x.test/${name}`, fileType: "md", modifiedAt, attributes: {} };
  return { itemId: item as ItemId, path, sha256, bytes: Buffer.byteLength(text), label };
}

export function sha256Of(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export async function putAndCommit(at: Pick<Bench, "index">, ...files: DocumentFile[]) {
  const draft = await at.index.draft(SOURCE);
  await Promise.all(files.map((file) => draft.put(file, never)));
  return draft.commit(never);
}

export async function holdings({ index }: Pick<Bench, "index">) {
  return (await collect(index.holdings(SOURCE))).flat();
}

export async function attachedIds(at: Bench): Promise<string[]> {
  return (await collect(at.client.vectorStores.files.list(at.storeId))).map((file) => file.id);
}

export async function uploadedIds(at: Bench): Promise<string[]> {
  return (await collect(at.client.files.list())).map((file) => file.id);
}

/** What a draft of the next day does about uploads whose answers were lost. */
export async function tidyADayLater(at: Bench): Promise<void> {
  const { clock, storeId, proxy, notes } = at;
  const connection = connect({ kind: "openai", apiKey: "test", baseUrl: `${proxy.url}/v1`, clock }, notes);
  const attached = new Set((await attachedIds(at)) as FileId[]);
  const journal = await notes.journals.open({ domainId: DOMAIN, sourceId: SOURCE, storeId });
  const nowMs = Date.now() + 25 * 3600_000;
  await removeLostUploads({ storeId, connection }, journal, attached, { nowMs, signal: never });
  await connection.close();
}

/** The texts a search for the word brings up. */
export async function found({ index }: Pick<Bench, "index">, text: string): Promise<string[]> {
  const hits = await index.search({ text, limit: 50 });
  return hits.map((hit) => hit.text.trim()).filter((one) => one.includes(text));
}

/** How many requests like this one arrived: `POST /v1/files`. */
export function countRequests(at: Bench, line: string): number {
  return at.proxy.log.filter((one) => one.split("?")[0] === line).length;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
