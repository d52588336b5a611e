import type { Converted, Converter, OriginalItem } from "../contracts/converter.ts";
import type { Domain } from "../contracts/domain.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Index } from "../contracts/search-index.ts";
import type { Sighting, Source } from "../contracts/source.ts";
import { ForeseenBody } from "../mirror/mirror.ts";
import type { IndexTarget } from "./index-target.ts";

/*
 * What a dry run has in place of what would have an effect: the same interfaces, so that the steps are the same. Its ledger is an overlay
 * (ledger/), its mirror only remembers (mirror/mirror.ts).
 */

/** Lists like the source, and fetches nothing: of bytes, the size, the time and perhaps the hash are known. */
export function drySource(source: Source): Source {
  const { id, table, hiddenRows, feed } = source;
  return {
    id,
    ...(table && { table }),
    ...(hiddenRows && { hiddenRows: () => hiddenRows.call(source) }),
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

/** Every original gives its document, since none was fetched that could be refused. */
export function dryConverter(converter: Converter): Converter {
  return {
    documentPath: (item, originalPath) => converter.documentPath(item, originalPath),
    originalPath: (item, documentPath, originals) => converter.originalPath(item, documentPath, originals),
    async *convert(_original: string, items: readonly OriginalItem[]): AsyncGenerator<Converted> {
      for (const { itemId } of items) yield { itemId, document: new Uint8Array() };
    },
  };
}

/** The store as it would be created: without anything in it. */
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

/** Says what was done, or in a dry run, what would be. */
export function tell(job: Pick<JobContext, "dryRun" | "log">, done: string, planned: string): void {
  job.log(job.dryRun ? planned : done);
}

/** For what a dry run only goes through to see where it leads: the plan has said it. */
export function silentIfDry(job: JobContext): JobContext {
  return job.dryRun ? silent(job) : job;
}

/** For what is gone through once more: it was said the first time. */
export function silent(job: JobContext): JobContext {
  const { jobId, dryRun, signal } = job;
  return { jobId, dryRun, signal, log: () => undefined, checkpoint: () => job.checkpoint() };
}
