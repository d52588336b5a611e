import { createHash } from "node:crypto";
import type { Converter } from "../contracts/converter.ts";
import { ExtractError, type ExtractedDocument, isEmptyReason } from "../contracts/document.ts";
import { CancelledError, ConflictError, explain } from "../contracts/errors.ts";
import type { DomainId, ItemId, VectorStoreId } from "../contracts/ids.ts";
import type { DocumentAudit, IndexAudit, IndexDifference } from "../contracts/index-audit.ts";
import type { JobContext } from "../contracts/job.ts";
import { type Lease, sourceLease } from "../contracts/lease.ts";
import type { Ledger, LedgerEntry } from "../contracts/ledger.ts";
import type { DocumentFile, Index, IndexedRef } from "../contracts/search-index.ts";
import type { Sighting, Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { hashFile } from "../lib/hash.ts";
import { MerkleTree } from "../lib/merkle-tree.ts";
import { isListed, listOf, type SqlDatabase } from "../lib/sql/sql.ts";
import { openTemporary } from "../lib/sql/sqlite-database.ts";
import { plural } from "../lib/text.ts";
import { sourceFolder } from "../mirror/layout.ts";
import { listFiles } from "../mirror/list-files.ts";
import { Mirror } from "../mirror/mirror.ts";
import { whyUnwanted } from "../plan/detect-changes.ts";
import { documentOf } from "./commit-plan.ts";
import { crawlRequest } from "./crawl-request.ts";
import { partsFor } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { keepUnregistered } from "./ingest/registered-addresses.ts";
import {
  type Behind,
  type Difference,
  type ItemProof,
  LAYERS,
  type Layer,
  leafOf,
  MISSING_DOCUMENT,
  MISSING_FILE,
  type SourceCounts,
  type SourceVerification,
  type Verdict,
  type VerifyRequest,
} from "./verification.ts";
import { companionOf } from "./verify-mirror.ts";
import { SearchCheck } from "./verify-search.ts";
import { waitForLease, whileHeld } from "./with-ledger.ts";

/** The store of the domain; the reason where it cannot be looked at. */
export type VerifiedIndex =
  | { readonly store: VectorStoreId; readonly index: Index; readonly problem?: undefined }
  | { readonly problem: string };

export interface VerifiedSource {
  readonly result: SourceVerification;
  readonly proofs: readonly ItemProof[];
  /** Documents whose stored parts are damaged: only a put that makes them anew helps. */
  readonly damaged: readonly ItemId[];
}

/** So many of each are told in the result; the log has all. */
const MAX_TOLD = 500;
/** Of so many items a quick verification reads file, label and vectors, on average. */
const QUICK_SAMPLE = 200;
const PAGE = 200;
const AT_ONCE = 4;
const PROGRESS_LINES = 200;

/** What this run saw, in a temporary database: memory does not grow with the source. */
const TABLES = `
CREATE TABLE listed (item_id TEXT PRIMARY KEY, sighting TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE undecided (item_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE known (item_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE held (item_id TEXT NOT NULL, file_id TEXT NOT NULL, ref TEXT NOT NULL, PRIMARY KEY (item_id, file_id)) STRICT, WITHOUT ROWID;
CREATE TABLE item (item_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE stranger (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
`;

/**
 * Lists the source whole, hashes every file of its mirror, extracts their text anew and compares ledger and index with that. A quick
 * one does none of these, see VerifyRequest. Changes nothing. Holds the leases of the source, so that no crawl works on it meanwhile. Throws only when cancelled or when the ledger cannot be read.
 */
export async function verifySource(
  run: SourceRun,
  request: VerifyRequest,
  target: VerifiedIndex,
  parts: EngineParts,
  job: JobContext,
): Promise<VerifiedSource> {
  const take = request.mayWait === false ? leaseAtOnce : waitForLease;
  const leases = [await take(parts, run.domainId, sourceLease(run.config, "download"), job)];
  try {
    leases.push(await take(parts, run.domainId, sourceLease(run.config, "embed"), job));
    const held = leases.reduce((inner, lease) => whileHeld(lease, inner), job);
    const ledger = await parts.ledgers.open(run, { readOnly: true, isSnapshot: true });
    const db = openTemporary({ sql: TABLES });
    try {
      return await new Verification(run, request, target, parts, held, ledger, db).verify();
    } finally {
      await db.close();
      await ledger.close();
    }
  } finally {
    for (const lease of leases) await lease.release();
  }
}

async function leaseAtOnce(
  parts: EngineParts,
  domainId: DomainId,
  name: string,
  { jobId, signal }: JobContext,
): Promise<Lease> {
  const tooLate = new AbortController();
  let owner = "";
  try {
    return await parts.ledgers.leases.acquire(domainId, name, {
      owner: `job ${jobId}`,
      signal: AbortSignal.any([signal, tooLate.signal]),
      onWait(other) {
        owner = other;
        tooLate.abort();
      },
    });
  } catch (error) {
    if (owner === "" || signal.aborted) throw error;
    throw new ConflictError(`${owner} is working on the same source.`);
  }
}

/** One item as this run found it. */
interface FoundItem {
  readonly itemId: ItemId;
  readonly sighting: Sighting | undefined;
  readonly isUndecided: boolean;
  readonly entry: LedgerEntry | undefined;
  readonly refs: readonly IndexedRef[];
}

/** What was found out about it. */
interface ItemResult {
  readonly differences: Found[];
  readonly behind: string[];
  readonly hashes: Partial<Record<Layer, string>>;
  isFile: boolean;
  isDamaged: boolean;
  emptiness: "" | "empty" | "unreadable";
  passages: number;
  vectors: number;
  text: string;
}

class Verification {
  readonly #run: SourceRun;
  readonly #request: VerifyRequest;
  readonly #target: VerifiedIndex;
  readonly #parts: EngineParts;
  readonly #job: JobContext;
  readonly #ledger: Ledger;
  readonly #db: SqlDatabase;
  readonly #mirror: Mirror;
  readonly #converter: Converter | undefined;
  readonly #originals = new Set<string>();
  readonly #problems: string[] = [];
  readonly #differences: Difference[] = [];
  readonly #behind: Behind[] = [];
  readonly #damaged: ItemId[] = [];
  readonly #trees: Readonly<Record<Layer, MerkleTree>> = {
    source: new MerkleTree(),
    mirror: new MerkleTree(),
    index: new MerkleTree(),
  };
  readonly #proved: { itemId: ItemId; hashes: Partial<Record<Layer, string>> }[] = [];
  readonly #counts = {
    listed: 0,
    unwanted: 0,
    files: 0,
    documents: 0,
    passages: 0,
    vectors: 0,
    empty: 0,
    unreadable: 0,
    searched: 0,
    searched_removed: 0,
  } satisfies SourceCounts;
  #differencesMore = 0;
  #behindMore = 0;
  #unsummed = 0;
  #sampledShare = 1;
  #sampled = 0;
  #isListedWhole = false;
  #audit: IndexAudit | undefined;
  #source: Source | undefined;
  #search: SearchCheck | undefined;

  constructor(
    run: SourceRun,
    request: VerifyRequest,
    target: VerifiedIndex,
    parts: EngineParts,
    job: JobContext,
    ledger: Ledger,
    db: SqlDatabase,
  ) {
    this.#run = run;
    this.#request = request;
    this.#target = target;
    this.#parts = parts;
    this.#job = job;
    this.#ledger = ledger;
    this.#db = db;
    this.#mirror = new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
    this.#converter = run.config.kind.openConverter?.();
  }

  async verify(): Promise<VerifiedSource> {
    const { sourceId } = this.#run.config;
    try {
      for (const problem of this.#ledger.problems) this.#problems.push(problem);
      if (!this.#request.quick) await this.#listSource();
      await this.#noteKnown();
      await this.#noteHeld();
      await this.#listMirror();
      await this.#compareItems();
      await this.#tellStrangers();
      if (!this.#request.quick) await this.#checkSearch();
    } finally {
      await this.#source?.close?.();
    }
    const verdict = this.#verdict();
    this.#job.log(`Source '${sourceId}': ${verdict}.`);
    return { result: this.#result(verdict), proofs: this.#proofs(), damaged: this.#damaged };
  }

  /** What cannot be listed is a problem of the source, and the rest is looked at all the same. */
  async #listSource(): Promise<void> {
    const { config } = this.#run;
    this.#job.log(`Source '${config.sourceId}': listing ${config.kind.describePlace(config)}`);
    try {
      this.#source = this.#openSource();
      const listing = this.#source.list(this.#job.signal);
      let step = await listing.next();
      for (; !step.done; step = await listing.next()) {
        await this.#job.checkpoint();
        const sightings = step.value.filter((each) => each.kind === "sighting");
        await this.#db.insert(
          "listed (item_id, sighting)",
          sightings.map((each) => [each.itemId, JSON.stringify(each)]),
          "ON CONFLICT (item_id) DO UPDATE SET sighting = excluded.sighting",
        );
        const undecided = step.value.filter((each) => each.kind === "undecided");
        await this.#insertItems(
          "undecided",
          undecided.map(({ itemId }) => itemId),
        );
        for (const each of step.value) {
          if (each.kind === "unreadable")
            this.#noteProblem(`'${each.path || "its root"}' cannot be read: ${each.reason}`);
        }
      }
      if (step.value === "partial") this.#noteProblem("the listing of the source is incomplete");
      this.#isListedWhole = this.#problems.length === 0;
    } catch (error) {
      if (error instanceof CancelledError || this.#job.signal.aborted) throw error;
      this.#noteProblem(`the source cannot be listed: ${explain(error)}`);
    }
  }

  #openSource(): Source {
    const { config } = this.#run;
    const ledger = this.#ledger;
    const source = this.#parts.openSource(this.#run, {
      log: (line) => this.#job.log(line),
      ledger: async () => ledger,
      dryRun: true,
      // Registered addresses are otherwise asked only when they are due.
      force: config.kind.holdsRegistered?.(config) ?? false,
      checksum: this.#request.download,
    });
    const step = { run: this.#run, request: crawlRequest(this.#run.domainId), ledger };
    return keepUnregistered(source, step, partsFor(this.#parts, { dryRun: true }));
  }

  #noteProblem(problem: string): void {
    const { sourceId } = this.#run.config;
    this.#job.log(`WARNING: source '${sourceId}': ${problem}`);
    if (this.#problems.length < MAX_TOLD) this.#problems.push(problem);
  }

  async #noteKnown(): Promise<void> {
    for await (const items of this.#ledger.items()) await this.#insertItems("known", items);
  }

  async #insertItems(table: "known" | "undecided", items: readonly ItemId[]): Promise<void> {
    const rows = items.map((itemId) => [itemId]);
    await this.#db.insert(`${table} (item_id)`, rows, "ON CONFLICT DO NOTHING");
  }

  async #noteHeld(): Promise<void> {
    if (this.#target.problem !== undefined) return this.#noteProblem(this.#target.problem);
    const { index } = this.#target;
    const { sourceId } = this.#run.config;
    try {
      for await (const refs of index.holdings(sourceId)) {
        await this.#job.checkpoint();
        await this.#db.insert(
          "held (item_id, file_id, ref)",
          refs.map((ref) => [ref.itemId, ref.fileId, JSON.stringify(ref)]),
          "ON CONFLICT DO NOTHING",
        );
      }
      this.#audit = await index.openAudit?.(sourceId);
      const total = await this.#count("SELECT count(DISTINCT item_id) AS n FROM held");
      this.#search = new SearchCheck(this.#run, index, total);
    } catch (error) {
      if (error instanceof CancelledError || this.#job.signal.aborted) throw error;
      this.#noteProblem(`the index cannot be read: ${explain(error)}`);
    }
  }

  /** Files that no ledger entry has wait as strangers until all items were asked whether they belong to them. */
  async #listMirror(): Promise<void> {
    for await (const files of listFiles(this.#parts.crawlerFolder, this.#mirror.root)) {
      await this.#job.checkpoint();
      const owned = await this.#ledger.filesAmong(files);
      const strangers = files.filter((file) => !owned.has(file));
      await this.#db.insert(
        "stranger (path)",
        strangers.map((path) => [path]),
        "ON CONFLICT DO NOTHING",
      );
      if (!this.#converter) continue;
      for (const path of this.#mirror.originalsAmong(files)) this.#originals.add(path);
    }
  }

  async #count(text: string): Promise<number> {
    return Number((await this.#db.get<{ n: number }>(text))?.n ?? 0);
  }

  async #compareItems(): Promise<void> {
    const all = "SELECT item_id FROM listed UNION SELECT item_id FROM known UNION SELECT item_id FROM held";
    const total = await this.#db.run(`INSERT INTO item (item_id) ${all}`);
    this.#sampledShare = Math.min(1, QUICK_SAMPLE / Math.max(1, total));
    const every = Math.ceil(total / PROGRESS_LINES);
    let done = 0;
    for (let after = ""; ; ) {
      const rows = await this.#db.all<{ item_id: ItemId }>(
        `SELECT item_id FROM item WHERE item_id > $1 ORDER BY item_id LIMIT ${PAGE}`,
        [after],
      );
      if (rows.length === 0) return;
      after = rows.at(-1)?.item_id ?? "";
      const items = await this.#readItems(rows.map(({ item_id }) => item_id));
      const results = new Map<ItemId, ItemResult>();
      await forEachConcurrent(items, AT_ONCE, async (item) => {
        await this.#job.checkpoint();
        results.set(item.itemId, await this.#compareItem(item));
        done += 1;
        if (done % every === 0 || done === total) {
          this.#job.log(`[ ${done} / ${total} ] Verifying '${this.#pathOf(item)}'.`);
        }
      });
      // In the order of their ids, whichever was finished first: the roots depend on it.
      for (const item of items) await this.#takeResult(item, results.get(item.itemId));
    }
  }

  async #readItems(itemIds: readonly ItemId[]): Promise<FoundItem[]> {
    const among = isListed(this.#db, "item_id", "$1", "text");
    const list = [listOf(itemIds)];
    const listed = new Map<string, Sighting>();
    for (const { item_id, sighting } of await this.#db.all<{ item_id: string; sighting: string }>(
      `SELECT item_id, sighting FROM listed WHERE ${among}`,
      list,
    )) {
      listed.set(item_id, JSON.parse(sighting));
    }
    const undecided = new Set(
      (await this.#db.all<{ item_id: string }>(`SELECT item_id FROM undecided WHERE ${among}`, list)).map(
        ({ item_id }) => item_id,
      ),
    );
    const refs = new Map<string, IndexedRef[]>();
    for (const { item_id, ref } of await this.#db.all<{ item_id: string; ref: string }>(
      `SELECT item_id, ref FROM held WHERE ${among}`,
      list,
    )) {
      refs.set(item_id, [...(refs.get(item_id) ?? []), JSON.parse(ref)]);
    }
    const entries = await this.#ledger.getMany(itemIds);
    return itemIds.map((itemId, at) => ({
      itemId,
      sighting: listed.get(itemId),
      isUndecided: undecided.has(itemId),
      entry: entries[at],
      refs: refs.get(itemId) ?? [],
    }));
  }

  #pathOf({ itemId, sighting, entry, refs }: FoundItem): string {
    const file = entry?.mirrored?.file;
    return (file && this.#mirror.relativePath(file)) || sighting?.path || refs[0]?.path || entry?.seen?.name || itemId;
  }

  async #compareItem(item: FoundItem): Promise<ItemResult> {
    const result: ItemResult = {
      differences: [],
      behind: [],
      hashes: {},
      isFile: false,
      isDamaged: false,
      emptiness: "",
      passages: 0,
      vectors: 0,
      text: "",
    };
    try {
      await (this.#request.quick ? this.#compareQuickly(item, result) : this.#compareLayers(item, result));
    } catch (error) {
      if (error instanceof CancelledError || this.#job.signal.aborted) throw error;
      const detail = `it cannot be compared: ${explain(error)}`;
      result.differences.push({ layer: "index", part: "", detail, crawl: "says the same, or mends it" });
    }
    return result;
  }

  async #compareLayers(item: FoundItem, result: ItemResult): Promise<void> {
    const { sighting, entry, refs } = item;
    const unwanted = sighting ? whyUnwanted(sighting, this.#wanted) : "";
    const wanted = unwanted ? undefined : sighting;
    if (wanted) result.hashes.source = fingerprintHash(wanted);
    const mirrored = entry?.mirrored;
    if (!mirrored) return this.#compareWithoutFile({ ...item, sighting: wanted }, result);
    if (sighting && unwanted) result.behind.push(`the source has it, and it is not to be taken: ${unwanted}`);
    else if (!sighting && this.#isListedWhole && !item.isUndecided) result.behind.push("gone at the source");
    if (mirrored.sourceError) result.differences.push(failedDownload(mirrored.sourceError));
    if (mirrored.file === "") return;
    const path = this.#mirror.owns(mirrored.file) ? this.#mirror.absolute(mirrored.file) : "";
    const onDisk = path && this.#mirror.find(mirrored.file) ? await hashFile(path) : "";
    const fetched = wanted ? await this.#hashAtSource(wanted, mirrored.file) : "";
    if (fetched) result.hashes.source = fetched;
    if (!onDisk) {
      result.differences.push(missingFile());
      if (refs[0]) result.hashes.index = refs[0].sha256;
      return;
    }
    result.isFile = true;
    result.hashes.mirror = onDisk;
    const damage = this.#compareHashes({ onDisk, fetched }, item, result);
    if (damage) {
      // Its document is that of the sound bytes, which are not here to compare it with.
      if (refs[0]) result.hashes.index = refs[0].sha256;
      return;
    }
    await this.#compareDocument({ ...item, sighting: wanted, entry }, { onDisk, fetched, path }, result);
  }

  /** Compares what ledger, disk and index have of it, without reading more than a sample. */
  async #compareQuickly(item: FoundItem, result: ItemResult): Promise<void> {
    const { entry } = item;
    const mirrored = entry?.mirrored;
    const [ref, ...more] = this.#settleRefs(item, mirrored?.observed?.sha256 ?? "");
    if (ref) result.hashes.index = ref.sha256;
    if (!mirrored) return this.#compareWithoutFile(item, result);
    if (mirrored.sourceError) result.differences.push(failedDownload(mirrored.sourceError));
    else if (!entry.seen) result.behind.push("gone at the source");
    if (mirrored.file === "") return;
    const onDisk = this.#mirror.find(mirrored.file);
    if (!onDisk) {
      result.differences.push(missingFile());
      return;
    }
    result.isFile = true;
    const isSampled = Math.random() < this.#sampledShare;
    if (isSampled) this.#sampled += 1;
    const { observed } = mirrored;
    if (observed && observed.size !== onDisk.size) {
      result.differences.push(otherFile());
      return;
    }
    if (isSampled) {
      const hash = await hashFile(this.#mirror.absolute(mirrored.file));
      result.hashes.mirror = hash;
      if (this.#compareHashes({ onDisk: hash, fetched: "" }, item, result)) return;
    }
    if (this.#target.problem !== undefined || !this.#audit) return;
    if (this.#mirror.isOriginal(mirrored.file)) {
      result.differences.push(waitsForProcess(mirrored.processingError));
      return;
    }
    const isFailed = this.#mirror.isFailed(mirrored.file);
    if (!ref || isFailed) {
      const why = entry.indexed?.embeddingError ?? "";
      this.#judgeAbsent(why !== "" && (isFailed || isEmptyReason(why)) ? { refusal: why } : {}, item, result);
      return;
    }
    this.#tellSecond(more, result);
    const known = documentOf(this.#run, entry, this.#mirror);
    const file = { ...known, sha256: result.hashes.mirror ?? known.sha256 };
    const audit = isSampled || !this.#isAtomic ? await this.#audit.checkStored(file) : compareHeld(ref, file);
    this.#noteAudit(audit, result);
    this.#takeAudit(audit.differences, result);
    this.#compareIndexed(item, ref, result);
  }

  get #wanted() {
    const { acceptedTypes, maxFileBytes: maxBytes } = this.#parts;
    return { acceptedTypes, maxBytes };
  }

  #compareWithoutFile({ sighting, entry, refs, isUndecided }: FoundItem, result: ItemResult): void {
    const [ref] = refs;
    if (ref) result.hashes.index = ref.sha256;
    if (!ref) {
      if (sighting) result.behind.push("new at the source");
      return;
    }
    if (sighting || isUndecided) {
      const detail = "the ledger has no file of it, and the index has a document";
      result.differences.push({
        layer: "ledger",
        part: "",
        detail,
        crawl: "downloads it again and takes the document over",
      });
    } else {
      const detail = entry
        ? "the index has a document of which there is no file"
        : "the index has a document that neither ledger nor source know";
      result.differences.push({ layer: "index", part: "document", detail, crawl: REMOVES });
    }
  }

  /** "" where the bytes are not asked for, or are not those of the file: rows, pages, sites that are read while they are listed. */
  async #hashAtSource(sighting: Sighting, file: string): Promise<string> {
    if (!this.#request.download || !this.#isFetchable(sighting, file)) return "";
    return sighting.contentHash ?? (await this.#fetchHash(sighting));
  }

  #isFetchable({ form }: Sighting, file: string): boolean {
    const { isReadWhileListed } = this.#run.config.kind.abilities;
    return form === "document" && !isReadWhileListed && !this.#mirror.isOriginal(file);
  }

  async #fetchHash(sighting: Sighting): Promise<string> {
    const fetched = await this.#source?.fetch(sighting, this.#job.signal);
    if (fetched?.status !== "fetched") return "";
    const hash = createHash("sha256");
    for await (const bytes of fetched.body) hash.update(bytes);
    return hash.digest("hex");
  }

  /** Three witnesses tell which of them is wrong: the file, what the ledger remembers of it, and the document made of it. true: the file is. */
  #compareHashes(
    { onDisk, fetched }: { readonly onDisk: string; readonly fetched: string },
    { entry, refs }: FoundItem,
    result: ItemResult,
  ): boolean {
    const remembered = entry?.mirrored?.observed?.sha256 ?? "";
    if (remembered === "" || remembered === onDisk) return false;
    const confirmed = fetched === onDisk || refs.some(({ sha256 }) => sha256 === onDisk);
    if (confirmed) {
      const detail = "the ledger remembers another hash of its file";
      result.differences.push({ layer: "ledger", part: "", detail, crawl: "with --checksum: downloads it again" });
      return false;
    }
    result.differences.push(otherFile());
    return true;
  }

  async #compareDocument(
    item: FoundItem & { readonly entry: LedgerEntry },
    bytes: { readonly onDisk: string; readonly fetched: string; readonly path: string },
    result: ItemResult,
  ): Promise<void> {
    const { entry, sighting } = item;
    const { onDisk, fetched, path } = bytes;
    const mirrored = entry.mirrored;
    const changed = sighting ? changedFields(sighting, entry) : [];
    const isBehindBytes = await this.#isBehindBytes(item, changed, { onDisk, fetched });
    if (this.#target.problem !== undefined || !this.#search) {
      if (changed.length > 0) result.behind.push(sayChanged(changed));
      else if (isBehindBytes) result.differences.push(otherBytes());
      return;
    }
    if (!mirrored || this.#mirror.isOriginal(mirrored.file)) {
      result.differences.push(waitsForProcess(mirrored?.processingError));
      return;
    }
    const extracted = await this.#extract(path, entry);
    const [ref, ...more] = this.#settleRefs(item, onDisk);
    if (!ref || this.#mirror.isFailed(mirrored.file)) {
      if (changed.length > 0) result.behind.push(sayChanged(changed));
      this.#judgeAbsent(extracted, item, result);
      return;
    }
    result.hashes.index = ref.sha256;
    this.#tellSecond(more, result);
    if (extracted.document) result.text = extracted.document.markdown;
    const file = { ...documentOf(this.#run, entry, this.#mirror), sha256: onDisk };
    const audit = await this.#auditAs(file, extracted.document, result);
    if (changed.length === 0) {
      if (isBehindBytes) result.differences.push(otherBytes());
      this.#takeAudit(audit, result);
    } else {
      const listed = { ...documentOf(this.#run, asListed(entry, sighting as Sighting), this.#mirror), sha256: onDisk };
      const other = await this.#auditAs(listed, extracted.document, undefined);
      // The index says what the source says: it is the ledger that remembers something else.
      const isTold = this.#isAtomic || !changed.some(({ name }) => UNTOLD_ELSEWHERE.has(name));
      const isLedger = !isBehindBytes && isTold && !other.some(isLabel);
      if (isLedger) {
        const detail = `the ledger remembers ${sayFields(changed)}`;
        const isNoticed = changed.some(({ name }) => !UNTOLD_ELSEWHERE.has(name));
        const crawl = isNoticed ? "downloads it again" : "with --mode full: takes over what the source says";
        result.differences.push({ layer: "ledger", part: "", detail, crawl });
        this.#takeAudit(other, result);
      } else {
        result.behind.push(sayChanged(changed));
        this.#takeAudit(audit, result);
      }
    }
    this.#compareIndexed(item, ref, result);
  }

  /** A store may hold another file of the item that is newer, and wrong: its document is the one that the ledger remembers, if that is sound. */
  #settleRefs({ itemId, entry, refs }: FoundItem, sha256: string): readonly IndexedRef[] {
    const known = entry?.indexed?.fileId;
    if (!known || refs.length !== 1 || refs[0]?.fileId === known) return refs;
    const settled = this.#audit?.prefer?.(itemId, known, sha256);
    return settled ? [settled] : refs;
  }

  #tellSecond(more: readonly IndexedRef[], result: ItemResult): void {
    for (const { fileId } of more) {
      const detail = `the index has a second document of it (${fileId})`;
      result.differences.push({ layer: "index", part: "document", detail, crawl: REMOVES });
    }
  }

  /** Another size or version is either news at the source or a wrong row of the ledger: the bytes of this one item tell. */
  async #isBehindBytes(
    { sighting, entry }: FoundItem,
    changed: readonly ChangedField[],
    { onDisk, fetched }: { readonly onDisk: string; readonly fetched: string },
  ): Promise<boolean> {
    if (fetched) return fetched !== onDisk;
    if (!sighting || !changed.some(({ name }) => name === "size" || name === "content version")) return false;
    if (!this.#isFetchable(sighting, entry?.mirrored?.file ?? "")) return true;
    try {
      return (await this.#fetchHash(sighting)) !== onDisk;
    } catch (error) {
      if (error instanceof CancelledError || this.#job.signal.aborted) throw error;
      return true;
    }
  }

  async #extract(
    path: string,
    { mirrored }: LedgerEntry,
  ): Promise<{ readonly document?: ExtractedDocument; readonly refusal?: string }> {
    const fileType = fileTypeOf(mirrored?.file ?? "");
    try {
      return { document: await this.#parts.extractor.extract(path, fileType, this.#job.signal) };
    } catch (error) {
      if (error instanceof ExtractError) return { refusal: explain(error) };
      throw error;
    }
  }

  #judgeAbsent(
    { document, refusal }: { readonly document?: ExtractedDocument; readonly refusal?: string },
    { entry, refs }: FoundItem,
    result: ItemResult,
  ): void {
    const why = entry?.indexed?.embeddingError ?? "";
    const [ref] = refs;
    if (ref) {
      result.hashes.index = ref.sha256;
      const detail = "the index has a document of a file that was set aside";
      result.differences.push({ layer: "index", part: "document", detail, crawl: REMOVES });
      return;
    }
    // What a service refuses, nobody can try here.
    const isRefused = refusal !== undefined || (why !== "" && this.#target.problem === undefined && !this.#isAtomic);
    if (isRefused) {
      result.emptiness = isEmptyReason(refusal ?? why) || isEmptyReason(why) ? "empty" : "unreadable";
      return;
    }
    const isEmptyText = document?.markdown.trim() === "";
    if (isEmptyText) {
      result.emptiness = "empty";
      return;
    }
    const detail = why ? `${MISSING_DOCUMENT}: ${why}` : MISSING_DOCUMENT;
    const crawl = why ? "with --retry-failed: embeds it" : "embeds it";
    result.differences.push({ layer: "index", part: "document", detail, crawl });
  }

  get #isAtomic(): boolean {
    return this.#target.problem === undefined && this.#target.index.commits === "atomic";
  }

  async #auditAs(
    file: DocumentFile,
    document: ExtractedDocument | undefined,
    result: ItemResult | undefined,
  ): Promise<readonly IndexDifference[]> {
    if (!this.#audit) return [];
    const withText: DocumentFile = document ? { ...file, cachedText: async () => document } : file;
    const audit = await this.#audit.check(withText, this.#job.signal);
    if (result) this.#noteAudit(audit, result);
    return audit.differences;
  }

  #noteAudit({ chunks, vectors, unsummed }: DocumentAudit, result: ItemResult): void {
    result.passages = chunks;
    result.vectors = vectors;
    this.#unsummed += unsummed;
  }

  #takeAudit(differences: readonly IndexDifference[], result: ItemResult): void {
    for (const { part, detail } of differences) {
      const isDamage = DAMAGED_PARTS.has(part);
      if (isDamage || part === "document") result.isDamaged = true;
      const crawl = isDamage ? NOT_NOTICED : part === "document" ? "embeds it again" : LABELS;
      result.differences.push({ layer: "index", part, detail, crawl });
    }
  }

  #compareIndexed({ entry }: FoundItem, ref: IndexedRef, result: ItemResult): void {
    const indexed = entry?.indexed;
    const store = this.#target.problem === undefined ? this.#target.store : "";
    const wrong: string[] = [];
    if (indexed?.fileId !== ref.fileId) wrong.push("another file id");
    if (indexed && indexed.vectorStoreId !== store) wrong.push("another vector store");
    // Where the index has other bytes than the mirror, that was said, and the ledger may be right.
    const { sha256 = "" } = indexed ?? {};
    if (sha256 && ref.sha256 && sha256 !== ref.sha256 && ref.sha256 === result.hashes.mirror)
      wrong.push("another hash");
    if (indexed?.embeddingError) wrong.push(`a failure (${indexed.embeddingError})`);
    if (wrong.length === 0) return;
    const detail = `of its document the ledger remembers ${wrong.join(", ")}`;
    result.differences.push({
      layer: "ledger",
      part: "",
      detail,
      crawl: "takes over what the index has, a hash with --mode full",
    });
  }

  async #takeResult(item: FoundItem, result: ItemResult | undefined): Promise<void> {
    if (!result) return;
    const { itemId, sighting, entry, refs } = item;
    const { sourceId } = this.#run.config;
    const path = this.#pathOf(item);
    const isListed = this.#request.quick ? Boolean(entry?.seen) : sighting !== undefined;
    const isWanted = this.#request.quick ? Boolean(entry?.mirrored) : result.hashes.source !== undefined;
    if (isListed) this.#counts.listed += 1;
    if (isListed && !isWanted) this.#counts.unwanted += 1;
    if (result.isFile) this.#counts.files += 1;
    if (refs.length > 0) this.#counts.documents += 1;
    if (result.emptiness) this.#counts[result.emptiness] += 1;
    this.#counts.passages += result.passages;
    this.#counts.vectors += result.vectors;
    // A file whose row was lost is not another difference.
    if (!entry?.mirrored && sighting && refs.length > 0) await this.#know(this.#mirror.embeddedFile(sighting.path));
    const companion =
      entry && companionOf(entry, this.#originals, { mirror: this.#mirror, converter: this.#converter });
    if (companion) await this.#know(companion);
    const isAsked = this.#isAsked(item, path);
    for (const layer of LAYERS) {
      const hash = result.hashes[layer];
      if (hash === undefined) continue;
      this.#trees[layer].add(leafOf(sourceId, itemId, hash), { prove: isAsked });
    }
    if (isAsked) this.#proved.push({ itemId, hashes: result.hashes });
    for (const detail of result.behind) this.#tellBehind({ item_id: itemId, path, detail });
    for (const difference of result.differences) this.#tell({ ...difference, item_id: itemId, path });
    if (result.isDamaged) this.#damaged.push(itemId);
    const [ref] = this.#settleRefs(item, result.hashes.mirror ?? "");
    if (result.differences.length === 0 && ref) this.#search?.offer(itemId, ref, path, result.text);
  }

  async #know(file: string): Promise<void> {
    await this.#db.run("DELETE FROM stranger WHERE path = $1", [file]);
  }

  #isAsked({ itemId, refs, sighting }: FoundItem, path: string): boolean {
    const { prove } = this.#request;
    if (prove === undefined || this.#proved.length > 0) return false;
    return [itemId, path, sighting?.name, sighting?.path, ...refs.map(({ fileId }) => fileId)].includes(
      prove as ItemId,
    );
  }

  #tell(difference: Difference): void {
    const { layer, part, path, item_id, detail, crawl } = difference;
    const where = part ? `${layer}, ${part}` : layer;
    this.#job.log(`DIFFERS (${where}) '${path || item_id}': ${detail}. A crawl ${crawl}.`);
    if (this.#differences.length < MAX_TOLD) this.#differences.push(difference);
    else this.#differencesMore += 1;
  }

  #tellBehind(behind: Behind): void {
    this.#job.log(`BEHIND '${behind.path || behind.item_id}': ${behind.detail}.`);
    if (this.#behind.length < MAX_TOLD) this.#behind.push(behind);
    else this.#behindMore += 1;
  }

  async #tellStrangers(): Promise<void> {
    for (let after = ""; ; ) {
      const rows = await this.#db.all<{ path: string }>(
        `SELECT path FROM stranger WHERE path > $1 ORDER BY path LIMIT ${PAGE}`,
        [after],
      );
      for (const { path } of rows) {
        const detail = "a file on disk that no item has";
        this.#tell({ layer: "mirror", part: "", item_id: "", path, detail, crawl: "deletes it" });
      }
      if (rows.length < PAGE) break;
      after = rows.at(-1)?.path ?? "";
    }
    for await (const page of this.#audit?.leftovers() ?? []) {
      for (const { itemId, fileId, detail } of page) {
        this.#tell({ layer: "index", part: "state", item_id: itemId, path: fileId, detail, crawl: REMOVES });
      }
    }
  }

  async #checkSearch(): Promise<void> {
    if (!this.#search) return;
    const { missed, haunted, searched, searchedRemoved } = await this.#search.run(this.#job);
    this.#counts.searched = searched;
    this.#counts.searched_removed = searchedRemoved;
    for (const { itemId, path } of missed) {
      const detail = "a sentence of it does not find it";
      this.#damaged.push(itemId);
      this.#tell({ layer: "search", part: "", item_id: itemId, path, detail, crawl: NOT_NOTICED });
    }
    for (const { itemId, path } of haunted) {
      const detail = "it was removed, and is still found by its own words";
      this.#tell({ layer: "search", part: "", item_id: itemId, path, detail, crawl: NOT_NOTICED });
    }
  }

  #verdict(): Verdict {
    if (this.#differences.length > 0) return "differs";
    if (this.#problems.length > 0) return "could not look";
    return this.#behind.length > 0 ? "behind" : "agrees";
  }

  #result(verdict: Verdict): SourceVerification {
    const { sourceId: source_id, sourceType: source_type } = this.#run.config;
    const rootOf = (layer: Layer) => ({
      root: this.#trees[layer].root().toString("hex"),
      leaves: this.#trees[layer].size,
    });
    return {
      source_id,
      source_type,
      verdict,
      problems: this.#problems,
      counts: this.#counts,
      based_on: this.#basis(),
      roots: { source: rootOf("source"), mirror: rootOf("mirror"), index: rootOf("index") },
      differences: this.#differences,
      differences_more: this.#differencesMore,
      behind: this.#behind,
      behind_more: this.#behindMore,
    };
  }

  #basis(): SourceVerification["based_on"] {
    if (this.#request.quick) return this.#quickBasis();
    const { isReadWhileListed } = this.#run.config.kind.abilities;
    const listing = isReadWhileListed ? "addresses asked in this run" : "listing of this run, fingerprints";
    const bytes = this.#request.download && !isReadWhileListed ? ", bytes read in this run" : "";
    const whole = this.#isListedWhole ? "complete" : "incomplete";
    const unsummed = this.#unsummed > 0 ? `, ${plural(this.#unsummed, "vector")} without a checksum` : "";
    const { searched, documents } = this.#counts;
    return {
      source: `${listing}${bytes}; ${whole}`,
      mirror: "bytes read in this run; complete",
      index: this.#audit ? `${this.#audit.basis}${unsummed}; complete` : "not looked at",
      search: this.#search ? `${searched} of ${plural(documents, "document")}` : "not looked at",
    };
  }

  #quickBasis(): SourceVerification["based_on"] {
    const { files, documents } = this.#counts;
    const sample = `a sample of ${this.#sampled} of ${plural(Math.max(files, documents), "item")}`;
    return {
      source: "listing of the last crawl; not asked",
      mirror: `presence and size of every file; bytes of ${sample}`,
      index: this.#audit ? `hashes and places of every document; labels and vectors of ${sample}` : "not looked at",
      search: "not looked at",
    };
  }

  #proofs(): ItemProof[] {
    const [proved] = this.#proved;
    if (!proved) return [];
    return LAYERS.flatMap((layer) => {
      const content_hash = proved.hashes[layer];
      const proof = this.#trees[layer].proof();
      if (content_hash === undefined || !proof) return [];
      const { index, size } = proof;
      const path = proof.path.map((hash) => hash.toString("hex"));
      return [{ source_id: this.#run.config.sourceId, item_id: proved.itemId, layer, content_hash, index, size, path }];
    });
  }
}

/** A remote store does not show these, so it cannot tell whether source or ledger is right. */
const UNTOLD_ELSEWHERE: ReadonlySet<string> = new Set(["name", "path", "address"]);
const LABELS = "labels it again; with --mode full also where only name, time or attributes are wrong";
const REMOVES = "removes it from the index";
const NOT_NOTICED = "does not notice it; verify --repair makes it anew";
const DAMAGED_PARTS: ReadonlySet<string> = new Set(["text", "sections", "chunks", "vectors"]);

function isLabel({ part }: IndexDifference): boolean {
  return part === "label" || part === "attributes" || part === "document";
}

type Found = Omit<Difference, "item_id" | "path">;

function failedDownload(error: string): Found {
  return { layer: "mirror", part: "", detail: `the last download failed: ${error}`, crawl: "downloads it again" };
}

function missingFile(): Found {
  return { layer: "mirror", part: "", detail: MISSING_FILE, crawl: "downloads it again" };
}

function otherFile(): Found {
  const detail = "its bytes are not those that were downloaded";
  return { layer: "mirror", part: "", detail, crawl: "with --checksum: downloads it again" };
}

function waitsForProcess(error = ""): Found {
  const detail = `it waits to be turned into a document${error ? `: ${error}` : ""}`;
  return { layer: "index", part: "document", detail, crawl: "turns it into a document" };
}

/** What the index lists of a document, without another request. */
function compareHeld({ sha256, path, url }: IndexedRef, file: DocumentFile): DocumentAudit {
  const isOther = sha256 !== "" && sha256 !== file.sha256;
  const isElsewhere = (path ?? file.label.path) !== file.label.path || (url ?? file.label.url) !== file.label.url;
  const differences: IndexDifference[] = [];
  if (isOther) differences.push({ part: "document", detail: "it was made of other bytes" });
  if (isElsewhere) differences.push({ part: "label", detail: "other than in the mirror: path or address" });
  return { differences, chunks: 0, vectors: 0, unsummed: 0 };
}

function otherBytes(): Found {
  const detail = "the source has other bytes under the same fingerprint";
  return { layer: "source", part: "", detail, crawl: "with --checksum or --mode full: downloads it again" };
}

/** Stands for the content where its bytes are not read. */
function fingerprintHash({ fingerprint }: Sighting): string {
  const { size, modifiedAt, etag, contentVersion } = fingerprint;
  const text = JSON.stringify([size, modifiedAt, etag, contentVersion]);
  return `fingerprint:${createHash("sha256").update(text).digest("hex")}`;
}

interface ChangedField {
  readonly name: string;
  readonly before: string | number;
  readonly now: string | number;
}

/** What the source says otherwise than the ledger remembers. */
function changedFields(sighting: Sighting, { seen, mirrored }: LedgerEntry): ChangedField[] {
  const { fingerprint: now, name, serverPath, url } = sighting;
  const was = mirrored?.fingerprint;
  const pairs: [name: string, before: string | number | undefined, now: string | number][] = [
    ["name", seen?.name, name],
    ["name", mirrored?.name, name],
    ["path", seen?.serverPath, serverPath],
    ["path", mirrored?.serverPath, serverPath],
    ["address", seen?.url, url],
    ["size", seen?.size, now.size],
    ["size", was?.size, now.size],
    ["modified time", seen?.modifiedAt, now.modifiedAt],
    ["modified time", was?.modifiedAt, now.modifiedAt],
    // What either of them does not tell is no evidence.
    ["content version", was?.contentVersion || now.contentVersion, now.contentVersion || (was?.contentVersion ?? "")],
  ];
  const fields = new Map<string, ChangedField>();
  for (const [field, before, after] of pairs) {
    if (before !== undefined && before !== after) fields.set(field, { name: field, before, now: after });
  }
  return [...fields.values()];
}

function sayFields(fields: readonly ChangedField[]): string {
  return `another ${fields.map(({ name }) => name).join(", ")}`;
}

function sayChanged(fields: readonly ChangedField[]): string {
  return `changed at the source: ${fields.map(({ name }) => name).join(", ")}`;
}

/** The entry as the next crawl would have it if the bytes are the same. */
function asListed({ itemId, seen, mirrored, indexed }: LedgerEntry, sighting: Sighting): LedgerEntry {
  const { name, serverPath, url } = sighting;
  const { modifiedAt } = sighting.fingerprint;
  return {
    itemId,
    indexed,
    seen: seen && { ...seen, name, serverPath, url, modifiedAt },
    mirrored: mirrored && { ...mirrored, name, serverPath, fingerprint: { ...mirrored.fingerprint, modifiedAt } },
  };
}
