import { openTableRegistry } from "../src/ledgers/registry/open-table-registry.ts";
import { startAzurite } from "../test/azurite.ts";
import { at, gather, page, putAll } from "../test/ledgers/registry-fixture.ts";

const SIZES = [1_000, 20_000];
const DUE = 20;

/** What the timer asks every minute, in a small registry and in a large one, with as much to do in both. */
export async function registryBench(): Promise<void> {
  const azurite = await startAzurite();
  try {
    const took: { readonly due: number; readonly list: number; readonly summary: number }[] = [];
    for (const size of SIZES) {
      const registry = openTableRegistry({ account: azurite.account, tableName: `Items${size}`, partitions: "host" });
      await putAll(
        registry,
        Array.from({ length: size }, (_, n) =>
          page(`p${n}`, {
            status: n < DUE ? "Crawled" : "Indexed",
            sourceHost: `host${n % 50}.example`,
            scheduling: { nextCrawlAt: at(n < DUE ? 1 : 20) },
          }),
        ),
      );
      await gather(registry.due(at(5)));
      const due = await timed(async () => {
        await gather(registry.due(at(5)));
        await gather(registry.entries({ statuses: ["Crawled"] }));
      });
      const list = await timed(() => registry.list({ offset: 0, limit: 50 }));
      const summary = await timed(() => registry.summary(at(5)));
      took.push({ due, list, summary });
    }
    const [small, large] = took;
    if (!small || !large) return;
    for (const name of ["due", "list", "summary"] as const) {
      const ratio = (large[name] / small[name]).toFixed(1);
      process.stdout.write(
        `${name}: ${SIZES[1]} items take ${ratio} times as long as ${SIZES[0]} (${large[name].toFixed(0)} ms, ${small[name].toFixed(0)} ms)\n`,
      );
    }
  } finally {
    await azurite.stop();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
