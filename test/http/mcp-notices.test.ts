// What changed is told once, also when reading it fails at first.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createDocumentChanges, type DocumentChanges } from "../../src/http/mcp/document-changes.ts";
import type { Reading } from "./ask.ts";
import { CLIENTS } from "./mcp-clients.ts";
import { type McpWorld, openMcpWorld } from "./mcp-world.ts";

const openNew = CLIENTS["client 2.x at 2026-07-28"] ?? assert.fail();

describe("notices of changed documents", () => {
  let world: McpWorld;
  /** What cannot be read now: a domain or a document. */
  let unreadable: (name: string) => boolean = () => false;
  const told: string[] = [];
  const errors: string[] = [];
  let changes: DocumentChanges;
  let uris: Record<string, string>;

  before(async () => {
    world = await openMcpWorld();
    const { domains, searchableDocuments: documents } = world.app;
    const read = async <T>(name: string, reading: () => Promise<T>): Promise<T> => {
      if (unreadable(name)) throw new Error(`disk I/O error: ${name}`);
      return await reading();
    };
    const searchableDocuments = {
      ...documents,
      revision: (domain: Parameters<typeof documents.revision>[0]) =>
        read(domain.domainId, () => documents.revision(domain)),
      versionOf: (key: Parameters<typeof documents.versionOf>[0]) => read(key.itemId, () => documents.versionOf(key)),
    };
    // Polled by hand.
    changes = createDocumentChanges(
      { domains, searchableDocuments },
      { listChanged: () => told.push("list"), updated: (uri) => told.push(uri) },
      { logError: (about) => errors.push(about), everyMs: 2 ** 30 },
    );
    const client = await openNew({ url: world.url });
    const { resources } = await client.resources();
    uris = Object.fromEntries(
      (resources as unknown as Reading[]).map((one) => [String(one["name"]), String(one["uri"])]),
    );
    await client.close();
  });
  after(() => world.close());

  const poll = async (): Promise<string[]> => {
    told.length = 0;
    await changes.catchUp();
    return told.toSorted();
  };

  it("are given by the next poll when a document, or a domain, could not be read", async () => {
    const { "travel.md": travel = "", "laptops.md": laptops = "" } = uris;
    const listener = await changes.listen(new Set([travel, laptops]));
    assert.deepEqual(await poll(), []);
    await world.write("HR", "travel.md", "# Travel policy\n\nHotels cost up to 170 euros a night.\n");
    await world.crawl("HR");
    await world.remove("IT", "laptops.md");
    await world.crawl("IT");
    unreadable = (name) => travel.endsWith(name);
    assert.deepEqual([await poll(), errors], [[], ["look for changed documents"]]);
    unreadable = (name) => name === "IT";
    assert.deepEqual(await poll(), ["list", travel].toSorted());
    unreadable = () => false;
    assert.deepEqual(await poll(), ["list", laptops].toSorted());
    assert.deepEqual(await poll(), []);
    listener.stop();
  });

  it("are not given for what changed while nobody listened", async () => {
    const { "holidays.md": holidays = "" } = uris;
    (await changes.listen(new Set([holidays]))).stop();
    await world.write("HR", "holidays.md", "# Holidays\n\nEverybody has 31 vacation days a year.\n");
    await world.crawl("HR");
    const listener = await changes.listen(new Set([holidays]));
    assert.deepEqual(await poll(), []);
    await world.write("HR", "holidays.md", "# Holidays\n\nEverybody has 32 vacation days a year.\n");
    await world.crawl("HR");
    assert.deepEqual(await poll(), ["list", holidays].toSorted());
    listener.stop();
  });
});
