import type { Backend } from "../contracts/backend.ts";
import type { Converted, Converter, OriginalItem } from "../contracts/converter.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledgers } from "../contracts/ledger.ts";
import type { Index, IndexDraft, RetainedDocuments } from "../contracts/search-index.ts";
import type { Sighting, Source } from "../contracts/source.ts";
import { isInFile } from "../lib/mask-file.ts";
import { KnowledgeBase } from "../mirror/knowledge-base.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { ForeseenBody, Mirror } from "../mirror/mirror.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { ItemRepository } from "./ingest/item-records.ts";
import { folderOfRun } from "./with-ledger.ts";

/*
 * A dry run takes the same steps as a run, with other parts: whatever has an effect is replaced by something of the same
 * interface that has none, and says what a run is told. Its ledger is an overlay (with-ledger.ts), its mirror and its
 * knowledge base only remember or count (mirror/), its sources fetch nothing, its index commits nothing, and nothing else
 * is written. So the steps need not ask.
 */

/** What a run may use. Every verb begins with it. */
export function partsFor<T extends EngineParts>(parts: T, { dryRun }: Pick<JobContext, "dryRun">): T {
  return dryRun ? { ...parts, ...dryParts(parts) } : parts;
}

function dryParts(parts: EngineParts): Partial<EngineParts> {
  const { openSource, openConverter, crawlerFolder } = parts;
  return {
    domains: withMembers(parts.domains, {
      create: refused,
      update: refused,
      remove: refused,
      ensureVectorStore: async () => ({ id: NO_STORE, created: true }),
    }),
    backend: dryBackend(parts.backend),
    ledgers: dryLedgers(parts.ledgers),
    openSource: (run, options) => drySource(openSource(run, { ...options, dryRun: true })),
    openConverter: (run) => dryConverter(openConverter(run)),
    openMirror: (run) => new Mirror(crawlerFolder, sourceFolder(run.domainId, run.config), { dryRun: true }),
    openKnowledge: (run) => new KnowledgeBase(folderOfRun(run, parts), { dryRun: true }),
    itemRepository: () => dryRepository(parts.itemRepository()),
    questions: withMembers(parts.questions, {
      change: (domainId) => parts.questions.read(domainId),
      changeRuns: (domainId) => parts.questions.runs(domainId),
    }),
    erasures: withMembers(parts.erasures, { change: refused, putReceipt: refused }),
    erasing: {
      ...parts.erasing,
      maskLogs: (which, domainId, words) => parts.erasing.maskLogs(which, domainId, words, DRY),
      eraseReports: (domainId, named) => parts.erasing.eraseReports(domainId, named, DRY),
      scrub: async () => [],
      maskFile: isInFile,
      removePath: nothing,
    },
    archive: async () => "",
  };
}

const SNAPSHOT = { readOnly: true, isSnapshot: true } as const;
const DRY = { dryRun: true } as const;
/** A store as it would be created. */
export const NO_STORE = "" as VectorStoreId;

async function nothing(): Promise<void> {}

/** For effects that no verb foresees by simply calling them. */
async function refused(): Promise<never> {
  throw new Error("a dry run changes nothing");
}

/** A ledger that is opened for writing is a snapshot, whose puts only its reader sees. */
function dryLedgers(ledgers: Ledgers): Ledgers {
  const { acknowledgements, feedback, metadata, plans, stores } = ledgers;
  return withMembers(ledgers, {
    open: (source, { readOnly, vectorStoreId, ...options }) =>
      ledgers.open(source, readOnly ? { ...options, readOnly, vectorStoreId } : { ...SNAPSHOT, vectorStoreId }),
    metadata: withMembers(metadata, {
      readBack: async () => "",
      write: async () => [],
      remove: async () => [],
    }),
    acknowledgements: withMembers(acknowledgements, { put: nothing, remove: async () => 0 }),
    feedback: withMembers(feedback, { put: nothing, remove: async (_domainId, ids) => ids.length }),
    plans: withMembers(plans, { discard: nothing }),
    stores: withMembers(stores, { put: nothing, remove: nothing }),
    leases: {
      acquire: async () => ({ release: nothing, [Symbol.asyncDispose]: nothing, stillHeld: async () => true }),
    },
    exportManifest: nothing,
    forgetManifest: nothing,
    dropStore: nothing,
    eraseTraces: async () => 0,
    forget: nothing,
    forgetDomain: refused,
    renameDomain: refused,
  });
}

function dryBackend(backend: Backend): Backend {
  const { storage, sweepUploads } = backend;
  return withMembers(backend, {
    createVectorStore: async () => NO_STORE,
    deleteVectorStore: nothing,
    changeOwner: refused,
    forgetDomain: refused,
    async openIndex(store, ...options) {
      if (store === NO_STORE) return EMPTY_INDEX;
      const index = await backend.openIndex(store, ...options);
      return index && dryIndex(index);
    },
    ...(sweepUploads && { sweepUploads: (sweep) => sweepUploads.call(backend, { ...sweep, dryRun: true }) }),
    ...(backend.eraseUploads && { eraseUploads: nothing }),
    ...(storage && {
      storage: withMembers(storage, {
        eraseAnswers: (quotes) => storage.eraseAnswers(quotes, DRY),
        eraseFile: nothing,
      }),
    }),
  });
}

/** Drafts of a dry run store nothing; without `crawlDrafts`, each source has its own. */
function dryIndex(index: Index): Index {
  const { retained, generations } = index;
  return withMembers(index, {
    draft: async () => DRY_DRAFT,
    crawlDrafts: undefined,
    refreshVectors: undefined,
    carryOthers: undefined,
    ...(retained && { retained: dryRetained(retained) }),
    ...(generations && { generations: withMembers(generations, { rollback: refused, release: refused }) }),
  });
}

function dryRetained(retained: RetainedDocuments): RetainedDocuments {
  return withMembers(retained, {
    endGracePeriod: nothing,
    purge: (source, items) => retained.purge(source, items, DRY),
    erase: (source, items) => retained.erase(source, items, DRY),
    collectGarbage: (options) => retained.collectGarbage({ ...options, ...DRY }),
  });
}

const DRY_DRAFT: IndexDraft = {
  put: nothing,
  relabel: nothing,
  remove: nothing,
  stage: async () => [],
  stored: async () => [],
  commit: async () => ({ ready: [], failed: [] }),
  discard: nothing,
};

const EMPTY_INDEX: Index = {
  commits: "atomic",
  draft: async () => DRY_DRAFT,
  holdings: async function* () {},
  sources: async () => new Set(),
  count: async () => ({ documents: 0 }),
  search: async () => [],
};

function dryRepository({ registry, members }: ItemRepository): ItemRepository {
  return {
    registry: withMembers(registry, { put: async (_item, expected) => expected ?? "", delete: nothing }),
    members: withMembers(members, { change: nothing, forget: nothing }),
    documents: { delete: nothing, erase: nothing },
    images: { delete: nothing },
  };
}

/** Lists like the source and fetches nothing: size, time and perhaps hash of the bytes are known from the listing. */
function drySource(source: Source): Source {
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
function dryConverter(converter: Converter | undefined): Converter | undefined {
  return (
    converter &&
    withMembers(converter, {
      async *convert(_original: string, items: readonly OriginalItem[]): AsyncGenerator<Converted> {
        for (const { itemId } of items) yield { itemId, document: new Uint8Array() };
      },
      leaveOut: nothing,
    })
  );
}

/** Logs `done`; or, in a dry run, `planned`. */
export function logDone(job: Pick<JobContext, "dryRun" | "log">, done: string, planned?: string): void {
  const line = job.dryRun ? planned : done;
  if (line !== undefined) job.log(line);
}

/** Logs what is planned. A dry run names everything that would be done; a run does it. */
export function logPlanned({ dryRun, log }: Pick<JobContext, "dryRun" | "log">, line: string): void {
  if (dryRun) log(line);
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

/** Returns the same object with other members, or without those that are given as undefined; the object itself stays as it is. */
function withMembers<T extends object>(object: T, members: Partial<{ [K in keyof T]: T[K] | undefined }>): T {
  return new Proxy(object, {
    get(target, key) {
      if (Object.hasOwn(members, key)) return Reflect.get(members, key);
      const value: unknown = Reflect.get(target, key);
      // Private fields are those of the object, not of its proxy.
      return typeof value === "function" ? value.bind(target) : value;
    },
    has: (target, key) => (Object.hasOwn(members, key) ? Reflect.get(members, key) !== undefined : key in target),
  });
}
