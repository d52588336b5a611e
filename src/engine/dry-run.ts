import type { Converted, Converter, OriginalItem } from "../contracts/converter.ts";
import type { Domain } from "../contracts/domain.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Index } from "../contracts/search-index.ts";
import type { Sighting, Source } from "../contracts/source.ts";
import { ForeseenBody } from "../mirror/mirror.ts";
import type { IndexTarget } from "./index-target.ts";

/*
 * Substitutes for everything that has an effect, with the same interfaces, so that a dry run takes the same steps. Its
 * ledger is an overlay (ledger/), its mirror only remembers (mirror/mirror.ts).
 */

/** Lists like the source and fetches nothing: size, time and perhaps hash of the bytes are known from the listing. */
export function drySource(source: Source): Source {
  const { id, table, hiddenRows, skipped, leftOut, feed } = source;
  return {
    id,
    ...(table && { table }),
    ...(hiddenRows && { hiddenRows: () => hiddenRows.call(source) }),
    ...(skipped && { skipped: () => skipped.call(source) }),
    ...(leftOut && { leftOut: () => leftOut.call(source) }),
    ...(feed && { feed }),
    list: (signal) => source.list(signal),
    conclude: async (outcome) => await source.conclude?.(outcome),
    close: async () => await source.close?.(),
    diagnose: (signal) => source.diagnose(signal),
    fetch: async ({ fingerprint, contentHash = "" }: Sighting) => {
      const { size, modifiedAt } = fingerprint;
      const body = new ForeseenBody({ size, mtimeMs: Date.parse(modifiedAt), sha256: contentHash });
      return { status: "fetched", body };
    },
  };
}

/** Every original converts to a document: none was fetched that could fail. */
export function dryConverter(converter: Converter): Converter {
  return {
    documentPath: (item, originalPath) => converter.documentPath(item, originalPath),
    originalPath: (item, documentPath, originals) => converter.originalPath(item, documentPath, originals),
    async *convert(_original: string, items: readonly OriginalItem[]): AsyncGenerator<Converted> {
      for (const { itemId } of items) yield { itemId, document: new Uint8Array() };
    },
  };
}

/** An empty store, as it would be created. */
export function dryTarget(domain: Domain, job: JobContext): IndexTarget {
  job.log(`The vector store '${domain.vectorStoreName || domain.domainId}' would be created.`);
  const index: Index = {
    commits: "atomic",
    draft: async () => {
      throw new Error("draft: a dry run changes nothing");
    },
    holdings: async function* () {},
    sources: async () => new Set(),
    count: async () => ({ documents: 0 }),
    search: async () => [],
  };
  return { store: "" as VectorStoreId, index, isOwn: true };
}

/** Logs `done`, or `planned` in a dry run. */
export function logDone(job: Pick<JobContext, "dryRun" | "log">, done: string, planned: string): void {
  job.log(job.dryRun ? planned : done);
}

/** For steps that a dry run only simulates: the plan has been logged. */
export function silentIfDry(job: JobContext): JobContext {
  return job.dryRun ? silent(job) : job;
}

/** For work that is repeated: the first time was logged. */
export function silent(job: JobContext): JobContext {
  const { jobId, dryRun, signal } = job;
  return { jobId, dryRun, signal, log: () => undefined, checkpoint: () => job.checkpoint() };
}
