import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI, { toFile } from "openai";
import { CancelledError } from "../../src/contracts/errors.ts";
import { createInventory } from "../../src/inventory/create-inventory.ts";
import type { Inventory, Steps } from "../../src/inventory/inventory.ts";
import { createResponseLog } from "../../src/inventory/response-log.ts";
import { startWireService, type WireService } from "../backends/openai-wire-service.ts";

/** The inventory over a real port, to a service that can be made to misbehave. */
export interface FaultyService {
  readonly inventory: Inventory;
  readonly service: WireService;
  readonly client: OpenAI;
  upload(name: string): Promise<string>;
  store(fileIds?: readonly string[]): Promise<string>;
  held(storeId: string): Promise<string[]>;
  close(): Promise<void>;
}

export async function openFaultyService(): Promise<FaultyService> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-inventory-"));
  const service = await startWireService(folder);
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "sk-secret-0123456789", maxRetries: 0 });
  return {
    inventory: createInventory({ client, clientFor: () => client, responseLog: createResponseLog(folder) }),
    service,
    client,
    upload: async (name) => {
      const file = await toFile(Buffer.from(`What ${name} says.`), name);
      return (await client.files.create({ file, purpose: "assistants" })).id;
    },
    async store(fileIds = []) {
      const { id } = await client.vectorStores.create({ name: "store" });
      if (fileIds.length > 0) await client.vectorStores.fileBatches.createAndPoll(id, { file_ids: [...fileIds] });
      return id;
    },
    async held(storeId) {
      const ids: string[] = [];
      for await (const file of client.vectorStores.files.list(storeId, { limit: 100 })) ids.push(file.id);
      return ids.sort();
    },
    async close() {
      await service.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What a verb sees of its job; `stop` cancels at the next checkpoint after a line that it likes. */
export function recordSteps(stop: (line: string) => boolean = () => false): Steps & { readonly lines: string[] } {
  const lines: string[] = [];
  const cancelled = new AbortController();
  return {
    lines,
    dryRun: false,
    signal: cancelled.signal,
    log(line) {
      lines.push(line);
      if (stop(line)) cancelled.abort();
    },
    async checkpoint() {
      if (cancelled.signal.aborted) throw new CancelledError("Cancelled by user.");
    },
  };
}
