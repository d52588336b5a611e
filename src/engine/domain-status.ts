import { isEmptyReason } from "../contracts/document.ts";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { explain, RemoteError } from "../contracts/errors.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { LedgerEntry } from "../contracts/ledger.ts";
import type { DocumentCount, GenerationState } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { TimeSlice } from "../lib/time-slice.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import type { EngineParts } from "./engine-parts.ts";
import { acknowledgedAt, acknowledgedIn, failuresIn, type ItemFailure } from "./failures.ts";
import { describeMissingStore } from "./index-target.ts";

/** The state of a domain by disk and index, whatever its last crawl said. */
export interface DomainStatus {
  /** Documents that a search can find, over all sources; null if the index does not answer. */
  readonly documents: number | null;
  /** Items that wait in `03_failed/`, or could not be downloaded, processed or embedded, and were not acknowledged. */
  readonly failed: number;
  /** Such items that were acknowledged. */
  readonly acknowledged: number;
  /** Items without anything to index. */
  readonly empty: number;
  /** Readers see this generation, whatever is crawled; null: not rolled back. */
  readonly rolledBackTo: number | null;
  /** What could not be read, and why; or "". */
  readonly error: string;
  readonly sources: readonly SourceStatus[];
}

interface SourceStatus {
  readonly sourceId: string;
  readonly sourceType: string;
  /** As the index counts them, or, if it has no counts by source, as the map files have it. */
  readonly documents: number;
  readonly failed: number;
  readonly acknowledged: number;
  readonly empty: number;
}

type Parts = Pick<EngineParts, "backend" | "crawlerFolder" | "ledgers">;

interface IndexAnswer {
  readonly count: DocumentCount | null;
  readonly state: GenerationState | undefined;
  readonly error: string;
  /** The answer came over the network, so it is cached. */
  readonly isRemote?: boolean;
}

/** Counts from the map files of one source. */
interface Tally {
  readonly failures: readonly Pick<ItemFailure, "itemId" | "step" | "reason" | "content">[];
  readonly empty: number;
  /** Indexed items by store, as the ledger has them. */
  readonly indexed: ReadonlyMap<VectorStoreId | "", number>;
}

const MAX_CACHED = 1000;
/** While a run writes, map files are read at most this often: reading large ones delays others. */
const REREAD_MS = 60_000;
/** Pages that refresh themselves must not query a remote service each time. */
const REMOTE_ANSWER_MS = 5_000;

/**
 * The returned function takes milliseconds as long as nothing changed: map files are read only when they changed, and
 * the answer of a remote service is cached for some seconds. Never throws; `error` says what could not be read.
 */
export function createDomainStatuses(parts: Parts): (domain: Domain) => Promise<DomainStatus> {
  const tallies = new TallyCache(parts);
  const answers = new AnswerCache(parts);
  return async (domain) => {
    const { count, state, error } = await answers.of(domain);
    const errors = error ? [error] : [];
    const sources: SourceStatus[] = [];
    for (const config of domain.sources) {
      const { sourceId, sourceType } = config;
      const tally = await tallies.of(domain, config).catch((failure: unknown) => {
        errors.push(`The map files of source '${sourceId}' cannot be read: ${explain(failure)}`);
        return NOTHING;
      });
      const recorded = tally.indexed.get(domain.vectorStoreId) ?? 0;
      const documents = count?.bySource ? (count.bySource.get(sourceId) ?? 0) : recorded;
      const acknowledged = await countAcknowledged(tally, { domainId: domain.domainId, config }, parts);
      const failed = tally.failures.length - acknowledged;
      sources.push({ sourceId, sourceType, documents, failed, acknowledged, empty: tally.empty });
    }
    return {
      documents: count?.documents ?? null,
      failed: sources.reduce((sum, { failed }) => sum + failed, 0),
      acknowledged: sources.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
      empty: sources.reduce((sum, { empty }) => sum + empty, 0),
      rolledBackTo: state?.pinned ? state.shown : null,
      error: errors.join(" "),
      sources,
    };
  };
}

/** Not cached with the tally: people acknowledge without changing anything else. */
async function countAcknowledged({ failures }: Tally, run: SourceRun, parts: Parts): Promise<number> {
  if (failures.length === 0) return 0;
  const known = await acknowledgedIn(run, parts);
  return failures.filter((failure) => acknowledgedAt(failure, known) !== "").length;
}

const NOTHING: Tally = { failures: [], empty: 0, indexed: new Map() };

async function queryIndex(domain: Domain, { backend }: Parts): Promise<IndexAnswer> {
  const store = domain.vectorStoreId;
  if (!store) return { count: { documents: 0 }, state: undefined, error: "" };
  try {
    const index = await backend.openIndex(store, domain.domainId);
    if (!index) return { count: null, state: undefined, error: describeMissingStore(domain, store, undefined) };
    const isRemote = index.commits === "gradual";
    return { count: await index.count(), state: await index.generations?.state(), error: "", isRemote };
  } catch (error) {
    const reason = `The vector store does not answer: ${explain(error)}`;
    return { count: null, state: undefined, error: reason, isRemote: error instanceof RemoteError };
  }
}

/** By domain and store. Concurrent calls share one query. */
class AnswerCache {
  readonly #parts: Parts;
  readonly #known = new Map<string, Promise<IndexAnswer>>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  of(domain: Domain): Promise<IndexAnswer> {
    const key = `${domain.domainId} ${domain.vectorStoreId}`;
    const known = this.#known.get(key);
    if (known) return known;
    const answer = queryIndex(domain, this.#parts);
    this.#known.set(key, answer);
    void answer.then(({ isRemote }) => {
      if (isRemote) setTimeout(() => this.#known.delete(key), REMOTE_ANSWER_MS).unref();
      else this.#known.delete(key);
    });
    return answer;
  }
}

interface CachedTally {
  /** The version of the map files; "" while a run has changes that are not in them yet. */
  readonly version: string;
  readonly readAtMs: number;
  readonly tally: Promise<Tally>;
}

/** By source folder. Concurrent calls share one read. */
class TallyCache {
  readonly #parts: Parts;
  readonly #known = new Map<string, CachedTally>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async of(domain: Domain, config: SourceConfig): Promise<Tally> {
    const root = sourceFolder(domain.domainId, config);
    const version = await this.#parts.ledgers.version({ domainId: domain.domainId, config });
    const known = this.#known.get(root);
    if (known && (version ? version === known.version : Date.now() - known.readAtMs < REREAD_MS)) return known.tally;
    const tally = countEntries({ domainId: domain.domainId, config }, this.#parts);
    const cached = { version, readAtMs: Date.now(), tally };
    this.#known.delete(root);
    this.#known.set(root, cached);
    tally.catch(() => this.#known.get(root) === cached && this.#known.delete(root));
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_CACHED && oldest !== undefined) this.#known.delete(oldest);
    return tally;
  }
}

async function countEntries(run: SourceRun, parts: Parts): Promise<Tally> {
  const mirror = new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
  const ledger = await parts.ledgers.open(run, { readOnly: true });
  if (ledger.problems.length > 0) throw new Error(ledger.problems.join("; "));
  const indexed = new Map<VectorStoreId | "", number>();
  const timeSlice = new TimeSlice();
  const failures: Tally["failures"][number][] = [];
  let empty = 0;
  for await (const { itemId, step, reason, content } of failuresIn(ledger, mirror)) {
    failures.push({ itemId, step, reason, content });
  }
  for await (const entries of ledger.entries()) {
    for (const entry of entries) {
      if (isEmpty(entry)) empty += 1;
      const store = entry.indexed?.fileId ? entry.indexed.vectorStoreId : "";
      if (store) indexed.set(store, (indexed.get(store) ?? 0) + 1);
      if (timeSlice.isOver()) await timeSlice.next();
    }
  }
  return { failures, empty, indexed };
}

function isEmpty({ mirrored, indexed }: LedgerEntry): boolean {
  if (!mirrored?.file || mirrored.sourceError || mirrored.processingError) return false;
  return isEmptyReason(indexed?.embeddingError ?? "");
}
