import { createHash } from "node:crypto";
import { CancelledError, explain } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Ledger } from "../../contracts/ledger.ts";
import type { Sighting, Source } from "../../contracts/source.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { sha256Of } from "../../lib/hash.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import type { Mirror } from "../../mirror/mirror.ts";
import { whyUnwanted } from "../../plan/detect-changes.ts";
import { crawlRequest } from "../crawl-request.ts";
import { partsFor } from "../dry-run.ts";
import type { EngineParts } from "../engine-parts.ts";
import { keepUnregistered } from "../ingest/registered-addresses.ts";
import type { VerifyRequest } from "./verification.ts";
import type { Findings } from "./verify-findings.ts";
import type { FoundItem } from "./verify-item.ts";
import type { ChangedField } from "./verify-ledger.ts";

/** What this run saw, in a temporary database: memory does not grow with the source. */
export const VERIFY_TABLES = `
CREATE TABLE listed (item_id TEXT PRIMARY KEY, sighting TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE undecided (item_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE known (item_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE held (item_id TEXT NOT NULL, file_id TEXT NOT NULL, ref TEXT NOT NULL, PRIMARY KEY (item_id, file_id)) STRICT, WITHOUT ROWID;
CREATE TABLE item (item_id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE stranger (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
`;

export async function insertItems(
  db: SqlDatabase,
  table: "known" | "undecided",
  items: readonly ItemId[],
): Promise<void> {
  const rows = items.map((itemId) => [itemId]);
  await db.insert(`${table} (item_id)`, rows, "ON CONFLICT DO NOTHING");
}

interface ListingTools {
  readonly run: SourceRun;
  readonly request: VerifyRequest;
  readonly parts: EngineParts;
  readonly job: JobContext;
  readonly ledger: Ledger;
  readonly db: SqlDatabase;
  readonly mirror: Mirror;
  readonly findings: Findings;
}

/** The source as this run lists it, and its bytes where they are asked for. */
export class VerifiedListing {
  readonly #run: SourceRun;
  readonly #request: VerifyRequest;
  readonly #parts: EngineParts;
  readonly #job: JobContext;
  readonly #ledger: Ledger;
  readonly #db: SqlDatabase;
  readonly #mirror: Mirror;
  readonly #findings: Findings;
  #source: Source | undefined;
  #isWhole = false;

  constructor({ run, request, parts, job, ledger, db, mirror, findings }: ListingTools) {
    this.#run = run;
    this.#request = request;
    this.#parts = parts;
    this.#job = job;
    this.#ledger = ledger;
    this.#db = db;
    this.#mirror = mirror;
    this.#findings = findings;
  }

  /** What is not listed is gone. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  async close(): Promise<void> {
    await this.#source?.close?.();
  }

  /** Why an item of the source is not to be taken; "" if it is. */
  whyUnwanted(sighting: Sighting): string {
    const { acceptedTypes, maxFileBytes: maxBytes } = this.#parts;
    return whyUnwanted(sighting, { acceptedTypes, maxBytes });
  }

  /** What cannot be listed is a problem of the source, and the rest is looked at all the same. */
  async list(): Promise<void> {
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
        await insertItems(
          this.#db,
          "undecided",
          undecided.map(({ itemId }) => itemId),
        );
        for (const each of step.value) {
          if (each.kind === "unreadable")
            this.#findings.noteProblem(`'${each.path || "its root"}' cannot be read: ${each.reason}`);
        }
      }
      if (step.value === "partial") this.#findings.noteProblem("the listing of the source is incomplete");
      this.#isWhole = !this.#findings.hasProblems;
    } catch (error) {
      if (error instanceof CancelledError || this.#job.signal.aborted) throw error;
      this.#findings.noteProblem(`the source cannot be listed: ${explain(error)}`);
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

  /** "" where the bytes are not asked for, or are not those of the file: rows, pages, sites that are read while they are listed. */
  async hashAtSource(sighting: Sighting, file: string): Promise<string> {
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

  /** Another size or version is either news at the source or a wrong row of the ledger: the bytes of this one item tell. */
  async isBehindBytes(
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
}

/** Returns a hash of the fingerprint, used when the bytes are not read. */
export function fingerprintHash({ fingerprint }: Sighting): string {
  const { size, modifiedAt, etag, contentVersion } = fingerprint;
  const text = JSON.stringify([size, modifiedAt, etag, contentVersion]);
  return `fingerprint:${sha256Of(text)}`;
}
