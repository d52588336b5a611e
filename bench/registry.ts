import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { openTableRegistry } from "../src/ledger/registry/table-registry.ts";
import { startAzurite } from "../test/azurite.ts";
import { at, gather, itemId, page, plant } from "../test/ledger/registry-fixture.ts";

const SIZES = [1_000, 20_000];
const FEW = 20;
const TIMES = 5;

interface Cost {
  readonly ms: number;
  readonly requests: number;
}

/** What the timer, SearchStatus and lists ask, in a small registry and in a large one, with as much to do in both. */
export async function registryBench(): Promise<void> {
  const azurite = await startAzurite();
  try {
    const took: Map<string, Cost>[] = [];
    for (const size of SIZES) {
      const place = { account: azurite.account, tableName: `Items${size}`, partitions: "host" } as const;
      const registry = openTableRegistry(place);
      await registry.get(itemId("nobody"));
      const items = Array.from({ length: size }, (_, n) =>
        page(`p${n}`, {
          status: n < FEW ? "Crawled" : "Indexed",
          sourceHost: `host${n % 50}.example`,
          scheduling: { nextCrawlAt: at(n < FEW ? 1 : 20) },
        }),
      );
      await plant(azurite.connectionString, place.tableName, items);
      const few = new Set(items.slice(0, FEW).map(({ id }) => id));
      const first = await measured(() => gather(registry.due(at(5))), 1);
      process.stdout.write(`${size} items: looked through once a day in ${first.ms.toFixed(0)} ms\n`);
      const part = { offset: 0, limit: 50 };
      const questions: readonly [string, () => Promise<unknown>][] = [
        ["due", () => gather(registry.due(at(5)))],
        ["by state", () => gather(registry.entries({ statuses: ["Crawled"] }))],
        ["list of a domain", () => registry.list({ ...part, among: few })],
        ["list of a state", () => registry.list({ ...part, statuses: ["Crawled"] })],
        ["counts of a domain", () => registry.summary(at(5), few)],
        ["list of all", () => registry.list(part)],
        ["counts of all", () => registry.summary(at(5))],
      ];
      const times = new Map<string, Cost>();
      for (const [name, ask] of questions) times.set(name, await measured(ask, TIMES));
      took.push(times);
    }
    const [small, large] = took;
    for (const [name, after] of large ?? []) {
      const before = small?.get(name) ?? after;
      process.stdout.write(
        `${name}: ${SIZES[1]} items take ${after.requests} requests and ${after.ms.toFixed(0)} ms, ${SIZES[0]} took ${before.requests} and ${before.ms.toFixed(0)} ms (${(after.ms / before.ms).toFixed(1)} times)\n`,
      );
    }
  } finally {
    await azurite.stop();
  }
}

/** The fastest of several. Azurite looks through its memory at every question, so the requests say more than the time. */
async function measured(work: () => Promise<unknown>, times: number): Promise<Cost> {
  let best: Cost = { ms: Number.POSITIVE_INFINITY, requests: 0 };
  for (let n = 0; n < times; n++) {
    let requests = 0;
    const count = (): void => {
      requests += 1;
    };
    subscribe("http.client.request.start", count);
    const from = performance.now();
    await work();
    const ms = performance.now() - from;
    unsubscribe("http.client.request.start", count);
    if (ms < best.ms) best = { ms, requests };
  }
  return best;
}
