import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach } from "node:test";
import OpenAI from "openai";
import { createOpenAiBackend } from "../../src/backends/openai/openai-backend.ts";
import type { Backend } from "../../src/contracts/backend.ts";
import { type ItemId, parseDomainId, parseSourceId, type VectorStoreId } from "../../src/contracts/ids.ts";
import type { DocumentFile, Index } from "../../src/contracts/search-index.ts";
import { type FaultProxy, startFaultProxy } from "./openai-fault-proxy.ts";
import { createVirtualClock } from "./openai-virtual-clock.ts";
import { startWireService, type WireService } from "./openai-wire-service.ts";

export const DOMAIN = parseDomainId("DEMO");
export const SOURCE = parseSourceId("library");
export const never = new AbortController().signal;

/** One fresh vector store per test, seen from both sides: the index goes through the faults, the client looks past them. */
export interface Bench {
  readonly proxy: FaultProxy;
  readonly client: OpenAI;
  readonly clock: ReturnType<typeof createVirtualClock>;
  readonly backend: Backend;
  readonly storeId: VectorStoreId;
  readonly index: Index;
  makeFile(item: string, text: string): Promise<DocumentFile>;
}

/** Registers the hooks; the fields are there while a test runs. */
export function useVectorStore(): Bench {
  const bench = {} as Bench;
  let folder: string;
  let wire: WireService;

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
    const clock = createVirtualClock();
    const backend = createOpenAiBackend({ kind: "openai", apiKey: "test", baseUrl: `${proxy.url}/v1`, clock });
    const storeId = await backend.createVectorStore("demo");
    const index = await backend.openIndex(storeId, DOMAIN);
    assert.ok(index);
    const client = new OpenAI({ apiKey: "test", baseURL: `${wire.url}/v1`, maxRetries: 0 });
    const makeFile = (item: string, text: string) => writeDocument(folder, item, text);
    Object.assign(bench, { proxy, client, clock, backend, storeId, index, makeFile } satisfies Bench);
  });
  afterEach(async () => {
    await bench.backend.close();
    await bench.proxy.close();
  });
  return bench;
}

async function writeDocument(folder: string, item: string, text: string): Promise<DocumentFile> {
  const name = `${item}.md`;
  const sha256 = sha256Of(text);
  const path = join(folder, `${sha256.slice(0, 16)}-${name}`);
  await writeFile(path, text);
  const attributes = { last_modified: "2026-01-15T10:00:00.000000Z", file_type: "md" };
  const label = { name, path: name, url: `https://x.test/${name}`, fileType: "md", attributes };
  return { itemId: item as ItemId, path, sha256, bytes: Buffer.byteLength(text), label };
}

export function sha256Of(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export async function putAndCommit(at: Bench, ...files: DocumentFile[]) {
  const draft = await at.index.draft(SOURCE);
  for (const file of files) await draft.put(file, never);
  return draft.commit(never);
}

export async function holdings(at: Bench) {
  return (await collect(at.index.holdings(SOURCE))).flat();
}

export async function attachedIds(at: Bench): Promise<string[]> {
  return (await collect(at.client.vectorStores.files.list(at.storeId))).map((file) => file.id);
}

export async function countUploads(at: Bench): Promise<number> {
  return (await collect(at.client.files.list())).length;
}

/** The texts a search for the word brings up. */
export async function found(at: Bench, text: string): Promise<string[]> {
  return (await at.index.search({ text, limit: 10 })).map((hit) => hit.text.trim());
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
