import { ExtractError, type ExtractedDocument, isEmptyReason } from "../../contracts/document.ts";
import { CancelledError, explain } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { DocumentAudit, IndexAudit, IndexDifference } from "../../contracts/index-audit.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { LedgerEntry } from "../../contracts/ledger.ts";
import type { DocumentFile, Index, IndexedRef } from "../../contracts/search-index.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { plural } from "../../lib/text.ts";
import type { EngineParts } from "../engine-parts.ts";
import { MISSING_DOCUMENT } from "./verification.ts";
import type { Findings } from "./verify-findings.ts";
import { type FoundItem, type ItemResult, LABELS, NOT_NOTICED, REMOVES } from "./verify-item.ts";
import { SearchCheck } from "./verify-search.ts";

/** The store of the domain; the reason where it cannot be looked at. */
export type IndexToVerify =
  | { readonly store: VectorStoreId; readonly index: Index; readonly problem?: undefined }
  | { readonly problem: string };

interface IndexTools {
  readonly run: SourceRun;
  readonly target: IndexToVerify;
  readonly parts: Pick<EngineParts, "extractor">;
  readonly job: JobContext;
  readonly db: SqlDatabase;
  readonly findings: Findings;
}

/** What the index has of a source: compared with text extracted anew, and searched. */
export class VerifiedIndex {
  readonly #run: SourceRun;
  readonly #target: IndexToVerify;
  readonly #parts: Pick<EngineParts, "extractor">;
  readonly #job: JobContext;
  readonly #db: SqlDatabase;
  readonly #findings: Findings;
  #audit: IndexAudit | undefined;
  #search: SearchCheck | undefined;
  #unsummed = 0;

  constructor({ run, target, parts, job, db, findings }: IndexTools) {
    this.#run = run;
    this.#target = target;
    this.#parts = parts;
    this.#job = job;
    this.#db = db;
    this.#findings = findings;
  }

  /** "" if it cannot be looked at. */
  get store(): VectorStoreId | "" {
    return this.#target.problem === undefined ? this.#target.store : "";
  }

  get audit(): IndexAudit | undefined {
    return this.#target.problem === undefined ? this.#audit : undefined;
  }

  /** undefined: nothing of it can be looked at. */
  get search(): SearchCheck | undefined {
    return this.#target.problem === undefined ? this.#search : undefined;
  }

  get basis(): string {
    const unsummed = this.#unsummed > 0 ? `, ${plural(this.#unsummed, "vector")} without a checksum` : "";
    return this.#audit ? `${this.#audit.basis}${unsummed}; complete` : "not looked at";
  }

  async noteHeld(): Promise<void> {
    if (this.#target.problem !== undefined) return this.#findings.noteProblem(this.#target.problem);
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
      const rows = await this.#db.get<{ n: number }>("SELECT count(DISTINCT item_id) AS n FROM held");
      this.#search = new SearchCheck(this.#run, index, Number(rows?.n ?? 0));
    } catch (error) {
      if (error instanceof CancelledError || this.#job.signal.aborted) throw error;
      this.#findings.noteProblem(`the index cannot be read: ${explain(error)}`);
    }
  }

  /** A store may hold another file of the item that is newer, and wrong: its document is the one that the ledger remembers, if that is sound. */
  settleRefs({ itemId, entry, refs }: FoundItem, sha256: string): readonly IndexedRef[] {
    const known = entry?.indexed?.fileId;
    if (!known || refs.length !== 1 || refs[0]?.fileId === known) return refs;
    const preferred = this.#audit?.prefer?.(itemId, known, sha256);
    return preferred ? [preferred] : refs;
  }

  tellSecond(more: readonly IndexedRef[], result: ItemResult): void {
    if (this.isAtomic && more.length > 0) result.isDamaged = true;
    for (const { fileId } of more) {
      const detail = `the index has a second document of it (${fileId})`;
      result.differences.push({
        layer: "index",
        part: "document",
        detail,
        crawl: this.isAtomic ? NOT_NOTICED : REMOVES,
      });
    }
  }

  async extract(
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

  judgeAbsent(
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
    // A search that the service refuses cannot be tested.
    const isRefused = refusal !== undefined || (why !== "" && this.#target.problem === undefined && !this.isAtomic);
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

  get isAtomic(): boolean {
    return this.#target.problem === undefined && this.#target.index.commits === "atomic";
  }

  async auditAs(
    file: DocumentFile,
    document: ExtractedDocument | undefined,
    result: ItemResult | undefined,
  ): Promise<readonly IndexDifference[]> {
    if (!this.#audit) return [];
    const withText: DocumentFile = document ? { ...file, cachedText: async () => document } : file;
    const audit = await this.#audit.check(withText, this.#job.signal);
    if (result) this.noteAudit(audit, result);
    return audit.differences;
  }

  noteAudit({ chunks, vectors, unsummed }: DocumentAudit, result: ItemResult): void {
    result.passages = chunks;
    result.vectors = vectors;
    this.#unsummed += unsummed;
  }

  takeAudit(differences: readonly IndexDifference[], result: ItemResult): void {
    for (const { part, detail } of differences) {
      const isDamage = DAMAGED_PARTS.has(part);
      if (isDamage) result.isDamaged = true;
      const crawl = isDamage ? NOT_NOTICED : part === "document" ? "embeds it again" : LABELS;
      result.differences.push({ layer: "index", part, detail, crawl });
    }
  }

  /** Documents without an item. */
  async tellLeftovers(): Promise<void> {
    for await (const page of this.#audit?.leftovers() ?? []) {
      for (const { itemId, fileId, detail } of page) {
        this.#findings.tell({ layer: "index", part: "state", item_id: itemId, path: fileId, detail, crawl: REMOVES });
      }
    }
  }

  async checkSearch(): Promise<void> {
    if (!this.#search) return;
    const { missed, haunted, searched, searchedRemoved } = await this.#search.run(this.#job);
    this.#findings.counts.searched = searched;
    this.#findings.counts.searched_removed = searchedRemoved;
    for (const { itemId, path } of missed) {
      const detail = "a sentence of it does not find it";
      this.#findings.damaged.push(itemId);
      this.#findings.tell({ layer: "search", part: "", item_id: itemId, path, detail, crawl: NOT_NOTICED });
    }
    for (const { itemId, path } of haunted) {
      const detail = "it was removed, and is still found by its own words";
      this.#findings.tell({ layer: "search", part: "", item_id: itemId, path, detail, crawl: NOT_NOTICED });
    }
  }
}

const DAMAGED_PARTS: ReadonlySet<string> = new Set(["text", "sections", "chunks", "vectors"]);

/** What the index lists of a document, without another request. */
export function compareHeld({ sha256, path, url }: IndexedRef, file: DocumentFile): DocumentAudit {
  const isOther = sha256 !== "" && sha256 !== file.sha256;
  const { label } = file;
  const isElsewhere = (path ?? label.path) !== label.path || (label.url !== "" && (url ?? label.url) !== label.url);
  const differences: IndexDifference[] = [];
  if (isOther) differences.push({ part: "document", detail: "it was made of other bytes" });
  if (isElsewhere) differences.push({ part: "label", detail: "other than in the mirror: path or address" });
  return { differences, chunks: 0, vectors: 0, unsummed: 0 };
}
