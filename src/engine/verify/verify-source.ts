import { isEmptyReason } from "../../contracts/document.ts";
import { CancelledError, ConflictError, explain } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { IndexDifference } from "../../contracts/index-audit.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Lease, Leases } from "../../contracts/lease.ts";
import type { Ledger, LedgerEntry } from "../../contracts/ledger.ts";
import type { IndexedRef } from "../../contracts/search-index.ts";
import type { Sighting } from "../../contracts/source.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { hashFile } from "../../lib/hash.ts";
import { isListed, listOf, type SqlDatabase } from "../../lib/sql/sql.ts";
import { openTemporary } from "../../lib/sql/sqlite-database.ts";
import { plural } from "../../lib/text.ts";
import { sourceFolder } from "../../mirror/layout.ts";
import { Mirror } from "../../mirror/mirror.ts";
import { documentOf } from "../commit-plan.ts";
import type { EngineParts } from "../engine-parts.ts";
import { leaseSource, waitForLease } from "../with-ledger.ts";
import type { ItemProof, SourceVerification, VerifyRequest } from "./verification.ts";
import { Findings } from "./verify-findings.ts";
import { compareHeld, type IndexToVerify, VerifiedIndex } from "./verify-index.ts";
import {
  type FoundItem,
  failedDownload,
  type ItemResult,
  missingFile,
  nothingFound,
  otherBytes,
  otherFile,
  REMOVES,
  waitsForProcess,
} from "./verify-item.ts";
import {
  asListed,
  changedFields,
  compareHashes,
  compareIndexed,
  sayChanged,
  sayFields,
  UNTOLD_ELSEWHERE,
} from "./verify-ledger.ts";
import { fingerprintHash, insertItems, VERIFY_TABLES, VerifiedListing } from "./verify-listing.ts";
import { Strangers } from "./verify-strangers.ts";

export interface VerifiedSource {
  readonly result: SourceVerification;
  readonly proofs: readonly ItemProof[];
  /** Documents whose stored parts are damaged: only rebuilding them helps. */
  readonly damaged: readonly ItemId[];
}

/** A quick verification reads file, label and vectors of about so many items. */
const QUICK_SAMPLE = 200;
const PAGE = 200;
const AT_ONCE = 4;
const PROGRESS_LINES = 200;

/**
 * Lists the source whole, hashes every file of its mirror, extracts their text anew and compares ledger and index with that. A quick
 * one does none of these, see VerifyRequest. Changes nothing. Holds the leases of the source, so that no crawl works on it meanwhile. Throws only when cancelled or when the ledger cannot be read.
 */
export async function verifySource(
  run: SourceRun,
  request: VerifyRequest,
  target: IndexToVerify,
  parts: EngineParts,
  job: JobContext,
): Promise<VerifiedSource> {
  const take = request.mayWait === false ? leaseAtOnce : waitForLease;
  await using leased = await leaseSource(run, parts, job, take);
  const ledger = await parts.ledgers.open(run, { readOnly: true, isSnapshot: true });
  const db = openTemporary({ sql: VERIFY_TABLES });
  try {
    return await new Verification(run, request, target, parts, leased.job, ledger, db).verify();
  } finally {
    await db.close();
    await ledger.close();
  }
}

async function leaseAtOnce(
  { ledgers }: { readonly ledgers: { readonly leases: Leases } },
  domainId: DomainId,
  name: string,
  { jobId, signal }: JobContext,
): Promise<Lease> {
  const tooLate = new AbortController();
  let owner = "";
  try {
    return await ledgers.leases.acquire(domainId, name, {
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

class Verification {
  readonly #run: SourceRun;
  readonly #request: VerifyRequest;
  readonly #job: JobContext;
  readonly #ledger: Ledger;
  readonly #db: SqlDatabase;
  readonly #mirror: Mirror;
  readonly #findings: Findings;
  readonly #listing: VerifiedListing;
  readonly #strangers: Strangers;
  readonly #index: VerifiedIndex;
  #sampledShare = 1;
  #sampled = 0;

  constructor(
    run: SourceRun,
    request: VerifyRequest,
    target: IndexToVerify,
    parts: EngineParts,
    job: JobContext,
    ledger: Ledger,
    db: SqlDatabase,
  ) {
    this.#run = run;
    this.#request = request;
    this.#job = job;
    this.#ledger = ledger;
    this.#db = db;
    this.#mirror = new Mirror(parts.crawlerFolder, sourceFolder(run.domainId, run.config));
    const converter = run.config.kind.openConverter?.();
    const findings = new Findings(run, job, ledger.problems);
    const tools = { run, request, target, parts, job, ledger, db, mirror: this.#mirror, findings, converter };
    this.#findings = findings;
    this.#listing = new VerifiedListing(tools);
    this.#strangers = new Strangers({ ...tools, crawlerFolder: parts.crawlerFolder });
    this.#index = new VerifiedIndex(tools);
  }

  async verify(): Promise<VerifiedSource> {
    try {
      if (!this.#request.quick) await this.#listing.list();
      for await (const items of this.#ledger.items()) await insertItems(this.#db, "known", items);
      await this.#index.noteHeld();
      await this.#strangers.list();
      await this.#compareItems();
      await this.#strangers.tell();
      await this.#index.tellLeftovers();
      if (!this.#request.quick) await this.#index.checkSearch();
    } finally {
      await this.#listing.close();
    }
    const result = this.#findings.result(this.#request.quick ? this.#quickBasis() : this.#basis());
    this.#job.log(`Source '${this.#run.config.sourceId}': ${result.verdict}.`);
    return { result, proofs: this.#findings.proofs(), damaged: this.#findings.damaged };
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
    const result = nothingFound();
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
    const unwanted = sighting ? this.#listing.whyUnwanted(sighting) : "";
    const wanted = unwanted ? undefined : sighting;
    if (wanted) result.hashes.source = fingerprintHash(wanted);
    const mirrored = entry?.mirrored;
    if (!mirrored) return this.#compareWithoutFile({ ...item, sighting: wanted }, result);
    if (sighting && unwanted) result.behind.push(`the source has it, and it is not to be taken: ${unwanted}`);
    else if (!sighting && this.#listing.isWhole && !item.isUndecided) result.behind.push("gone at the source");
    if (mirrored.sourceError) result.differences.push(failedDownload(mirrored.sourceError));
    if (mirrored.file === "") return;
    const path = this.#mirror.owns(mirrored.file) ? this.#mirror.absolute(mirrored.file) : "";
    const onDisk = path ? await hashIfThere(path) : "";
    const fetched = wanted ? await this.#listing.hashAtSource(wanted, mirrored.file) : "";
    if (fetched) result.hashes.source = fetched;
    if (!onDisk) {
      result.differences.push(missingFile());
      if (refs[0]) result.hashes.index = refs[0].sha256;
      return;
    }
    result.isFile = true;
    result.hashes.mirror = onDisk;
    const damage = compareHashes({ onDisk, fetched }, item, result);
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
    const [ref, ...more] = this.#index.settleRefs(item, mirrored?.observed?.sha256 ?? "");
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
      if (compareHashes({ onDisk: hash, fetched: "" }, item, result)) return;
    }
    const { audit: stored } = this.#index;
    if (!stored) return;
    if (this.#mirror.isOriginal(mirrored.file)) {
      result.differences.push(waitsForProcess(mirrored.processingError));
      return;
    }
    const isFailed = this.#mirror.isFailed(mirrored.file);
    if (!ref || isFailed) {
      const why = entry.indexed?.embeddingError ?? "";
      this.#index.judgeAbsent(why !== "" && (isFailed || isEmptyReason(why)) ? { refusal: why } : {}, item, result);
      return;
    }
    this.#index.tellSecond(more, result);
    const known = documentOf(this.#run, entry, this.#mirror);
    const file = { ...known, sha256: result.hashes.mirror ?? known.sha256 };
    const audit = isSampled || !this.#index.isAtomic ? await stored.checkStored(file) : compareHeld(ref, file);
    this.#index.noteAudit(audit, result);
    this.#index.takeAudit(audit.differences, result);
    compareIndexed(item, { ref, store: this.#index.store }, result);
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

  async #compareDocument(
    item: FoundItem & { readonly entry: LedgerEntry },
    bytes: { readonly onDisk: string; readonly fetched: string; readonly path: string },
    result: ItemResult,
  ): Promise<void> {
    const { entry, sighting } = item;
    const { onDisk, fetched, path } = bytes;
    const mirrored = entry.mirrored;
    const changed = sighting ? changedFields(sighting, entry) : [];
    if (sighting && !entry.seen) result.behind.push("back at the source");
    const isBehindBytes = await this.#listing.isBehindBytes(item, changed, { onDisk, fetched });
    if (!this.#index.search) {
      if (changed.length > 0) result.behind.push(sayChanged(changed));
      else if (isBehindBytes) result.differences.push(otherBytes());
      return;
    }
    if (!mirrored || this.#mirror.isOriginal(mirrored.file)) {
      result.differences.push(waitsForProcess(mirrored?.processingError));
      return;
    }
    const extracted = await this.#index.extract(path, entry);
    const [ref, ...more] = this.#index.settleRefs(item, onDisk);
    if (!ref || this.#mirror.isFailed(mirrored.file)) {
      if (changed.length > 0) result.behind.push(sayChanged(changed));
      this.#index.judgeAbsent(extracted, item, result);
      return;
    }
    result.hashes.index = ref.sha256;
    this.#index.tellSecond(more, result);
    if (extracted.document) result.text = extracted.document.markdown;
    const file = { ...documentOf(this.#run, entry, this.#mirror), sha256: onDisk };
    const audit = await this.#index.auditAs(file, extracted.document, result);
    if (changed.length === 0) {
      if (isBehindBytes) result.differences.push(otherBytes());
      this.#index.takeAudit(audit, result);
    } else {
      const listed = { ...documentOf(this.#run, asListed(entry, sighting as Sighting), this.#mirror), sha256: onDisk };
      const other = await this.#index.auditAs(listed, extracted.document, undefined);
      // The index says what the source says: it is the ledger that remembers something else.
      const isTold = this.#index.isAtomic || !changed.some(({ name }) => UNTOLD_ELSEWHERE.has(name));
      const isLedger = !isBehindBytes && isTold && !other.some(isLabel);
      if (isLedger) {
        const detail = `the ledger remembers ${sayFields(changed)}`;
        const isNoticed = changed.some(({ name }) => !UNTOLD_ELSEWHERE.has(name));
        const crawl = isNoticed ? "downloads it again" : "with --mode full: takes over what the source says";
        result.differences.push({ layer: "ledger", part: "", detail, crawl });
        this.#index.takeAudit(other, result);
      } else {
        result.behind.push(sayChanged(changed));
        this.#index.takeAudit(audit, result);
      }
    }
    compareIndexed(item, { ref, store: this.#index.store }, result);
  }

  async #takeResult(item: FoundItem, result: ItemResult | undefined): Promise<void> {
    if (!result) return;
    const { itemId, sighting, entry, refs } = item;
    const path = this.#pathOf(item);
    const isListed = this.#request.quick ? Boolean(entry?.seen) : sighting !== undefined;
    const isWanted = this.#request.quick ? Boolean(entry?.mirrored) : result.hashes.source !== undefined;
    if (isListed) this.#findings.counts.listed += 1;
    if (isListed && !isWanted) this.#findings.counts.unwanted += 1;
    if (result.isFile) this.#findings.counts.files += 1;
    if (refs.length > 0) this.#findings.counts.documents += 1;
    if (result.emptiness) this.#findings.counts[result.emptiness] += 1;
    this.#findings.counts.passages += result.passages;
    this.#findings.counts.vectors += result.vectors;
    // A file whose row was lost is not another difference.
    if (!entry?.mirrored && sighting && refs.length > 0)
      await this.#strangers.know(this.#mirror.embeddedFile(sighting.path));
    if (entry) await this.#strangers.knowCompanion(entry);
    this.#findings.addLeaves(itemId, result.hashes, { prove: this.#isAsked(item, path) });
    for (const detail of result.behind) this.#findings.tellBehind({ item_id: itemId, path, detail });
    for (const difference of result.differences) this.#findings.tell({ ...difference, item_id: itemId, path });
    if (result.isDamaged) this.#findings.damaged.push(itemId);
    const [ref] = this.#index.settleRefs(item, result.hashes.mirror ?? "");
    if (result.differences.length === 0 && ref) this.#index.search?.offer(itemId, ref, path, result.text);
  }

  #isAsked({ itemId, refs, sighting }: FoundItem, path: string): boolean {
    const { prove } = this.#request;
    if (prove === undefined || this.#findings.hasProof) return false;
    return [itemId, path, sighting?.name, sighting?.path, ...refs.map(({ fileId }) => fileId)].includes(
      prove as ItemId,
    );
  }

  #basis(): SourceVerification["based_on"] {
    const { isReadWhileListed } = this.#run.config.kind.abilities;
    const listing = isReadWhileListed ? "addresses asked in this run" : "listing of this run, fingerprints";
    const bytes = this.#request.download && !isReadWhileListed ? ", bytes read in this run" : "";
    const whole = this.#listing.isWhole ? "complete" : "incomplete";
    const { searched, documents } = this.#findings.counts;
    return {
      source: `${listing}${bytes}; ${whole}`,
      mirror: "bytes read in this run; complete",
      index: this.#index.basis,
      search: this.#index.search ? `${searched} of ${plural(documents, "document")}` : "not looked at",
    };
  }

  #quickBasis(): SourceVerification["based_on"] {
    const { files, documents } = this.#findings.counts;
    const sample = `a sample of ${this.#sampled} of ${plural(Math.max(files, documents), "item")}`;
    return {
      source: "listing of the last crawl; not asked",
      mirror: `presence and size of every file; bytes of ${sample}`,
      index: this.#index.audit
        ? `hashes and places of every document; labels and vectors of ${sample}`
        : "not looked at",
      search: "not looked at",
    };
  }
}

/** Returns "" if there is no file: nothing, or a folder. */
async function hashIfThere(path: string): Promise<string> {
  try {
    return await hashFile(path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EISDIR")) return "";
    throw error;
  }
}

function isLabel({ part }: IndexDifference): boolean {
  return part === "label" || part === "attributes" || part === "document";
}
