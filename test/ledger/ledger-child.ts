import { writeSync } from "node:fs";
import { type Facets, facetsOf, id } from "./ledger-fixture.ts";
import { closeLedgers, type LedgerPlace, leaseStep, openLedger } from "./ledger-place.ts";

export interface LedgerTask {
  readonly verb: keyof typeof VERBS;
  readonly place: LedgerPlace;
  /** What the verb makes of it. */
  readonly n: number;
}

/** Of every so many writes, the last one settles the ledger. */
export const SETTLES_EVERY = 7;
const ITEMS = 12;

const VERBS = { writeWithoutEnd, count, fill, readAll };

if (import.meta.main) {
  const { verb, place, n } = JSON.parse(process.argv[2] ?? "") as LedgerTask;
  await VERBS[verb](place, n);
  // Open connections would keep the process for a minute.
  await closeLedgers();
}

/** The items that the i-th write changes, each in all facets at once; null: they leave. */
export function changesOf(i: number): ReadonlyMap<string, Facets | null> {
  const changed = new Map<string, Facets | null>([[`item ${i % ITEMS}`, facetsOf(i)]]);
  if (i % 5 === 4) changed.set(`item ${(i + 3) % ITEMS}`, null);
  return changed;
}

/** Writes, from the n-th change on, and says what was flushed: to be killed. */
async function writeWithoutEnd(place: LedgerPlace, n: number): Promise<void> {
  await leaseStep(place, "download", "a child");
  const { ledger } = await openLedger(place);
  for (let i = n; ; i++) {
    for (const [item, facets] of changesOf(i)) {
      ledger.put(id(item), facets ?? { seen: null, mirrored: null, indexed: null });
    }
    await ledger.flush();
    // Not by the stream: what waits in it is lost with the process.
    writeSync(1, `${i}\n`);
    if (i % SETTLES_EVERY === SETTLES_EVERY - 1) await ledger.flush();
  }
}

/** Runs both steps n times: each adds one to its own facet of one item, and an item that nobody else has. */
async function count(place: LedgerPlace, n: number): Promise<void> {
  for (let i = 0; i < n; i++) {
    for (const step of ["download", "embed"] as const) {
      const lease = await leaseStep(place, step, `process ${process.pid}`);
      const { ledger } = await openLedger(place, { step });
      const known = await ledger.get(id("counted"));
      const before = step === "download" ? known?.mirrored : known?.indexed;
      const next = facetsOf((before?.listItemId ?? 0) + 1);
      for (const [item, { indexed, ...others }] of [
        ["counted", next],
        [`${process.pid} ${i}`, facetsOf(i)],
      ] as const) {
        ledger.put(id(item), step === "download" ? others : { indexed });
      }
      await ledger.close();
      await lease.release();
    }
  }
}

/** n items, settled now and then as a long run does. */
async function fill(place: LedgerPlace, n: number): Promise<void> {
  const { ledger } = await openLedger(place);
  for (let i = 0; i < n; i++) {
    ledger.put(id(`item ${i}`), facetsOf(i));
    if (i % 200 === 199) await ledger.flush();
  }
  await ledger.close();
}

/** Every entry, in pages; then some in the middle. Fails unless there are n. */
async function readAll(place: LedgerPlace, n: number): Promise<void> {
  const { ledger } = await openLedger(place, { readOnly: true });
  let [entries, items, files, sum] = [0, 0, 0, 0];
  for await (const page of ledger.entries()) {
    for (const { seen, mirrored, indexed } of page) {
      entries += 1;
      sum += (seen?.size ?? 0) + (mirrored?.listItemId ?? 0) + (indexed?.size ?? 0);
    }
  }
  for await (const page of ledger.items()) items += page.length;
  for await (const page of ledger.states()) files += page.length;
  const some = await ledger.getMany([id("item 0"), id(`item ${n >> 1}`), id(`item ${n - 1}`)]);
  const found = [entries, items, files, sum, ...some.map((entry) => entry?.indexed?.listItemId)].join();
  const expected = [n, n, n, (3 * n * (n - 1)) / 2, 0, n >> 1, n - 1].join();
  if (found !== expected) throw new Error(`read ${found} instead of ${expected}`);
  await ledger.close();
}
