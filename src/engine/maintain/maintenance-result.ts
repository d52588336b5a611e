import type { JobContext } from "../../contracts/job.ts";
import { plural } from "../../lib/text.ts";

/** What maintenance removes, as shown to users, in this order. */
export const FREED = {
  purged_documents: "documents that were missing for too long",
  manifest_entries: "manifest entries and texts of documents that were purged long ago",
  document_folders: "folders in the knowledge base that no manifest entry stands for",
  staging: "leftovers of killed runs in .staging",
  versions: "earlier versions beyond what is kept",
  index_documents: "documents in the index that no manifest entry stands for",
  index_leftovers: "documents and texts in the index that no kept generation shows",
  uploads: "uploads that no vector store holds",
  plans: "plans of dry runs that were kept long enough",
  jobs: "jobs that were kept long enough",
  reports: "reports that were kept long enough",
  temporary_files: "temporary files of killed processes",
  earlier_files: "folders with files of an earlier release that were taken over long ago",
} as const;

export type FreedKind = keyof typeof FREED;

/** These travel as JSON in job results, hence the spelling. */
interface Freed {
  readonly kind: FreedKind;
  readonly count: number;
  readonly bytes: number;
}

export interface FreedThing {
  readonly kind: FreedKind;
  readonly domain_id: string;
  readonly source_id: string;
  /** A path, a document, a file id. */
  readonly what: string;
  readonly bytes: number;
}

export interface MaintenanceResult {
  /** "": all domains, and what belongs to none. */
  readonly domain_id: string;
  readonly dry_run: boolean;
  /** By kind; empty kinds are left out. */
  readonly freed: readonly Freed[];
  /** Limited; the log has more. */
  readonly things: readonly FreedThing[];
  readonly things_more: number;
  /** What was kept although it may be unneeded, one sentence each. */
  readonly left: readonly string[];
  /** One sentence per problem; empty means ok. */
  readonly problems: readonly string[];
}

const SHOWN = 1000;

/** Collects everything that is removed, or would be in a dry run. */
export class MaintenanceTally {
  readonly left: string[] = [];
  readonly problems: string[] = [];
  readonly #job: JobContext;
  readonly #sums = new Map<FreedKind, { count: number; bytes: number }>();
  readonly #things: FreedThing[] = [];
  #more = 0;

  constructor(job: JobContext) {
    this.#job = job;
  }

  add(thing: FreedThing): void {
    this.addMany(thing.kind, 1, thing.bytes);
    if (this.#things.length >= SHOWN) {
      this.#more += 1;
      return;
    }
    this.#things.push(thing);
    this.#job.log(`${this.#verb} ${whereOf(thing)}${thing.what}`);
  }

  /** Counts items that are not listed one by one. */
  addMany(kind: FreedKind, count: number, bytes: number): void {
    const sum = this.#sums.get(kind) ?? { count: 0, bytes: 0 };
    this.#sums.set(kind, { count: sum.count + count, bytes: sum.bytes + bytes });
  }

  leave(sentence: string): void {
    this.left.push(sentence);
    this.#job.log(sentence);
  }

  problem(sentence: string): void {
    this.problems.push(sentence);
    this.#job.log(`ERROR: ${sentence}`);
  }

  result(domainId: string): MaintenanceResult {
    const kinds = Object.keys(FREED) as FreedKind[];
    const freed = kinds.flatMap((kind) => {
      const { count = 0, bytes = 0 } = this.#sums.get(kind) ?? {};
      return count > 0 ? [{ kind, count, bytes }] : [];
    });
    const total = freed.reduce((sum, { count }) => sum + count, 0);
    if (this.#more > 0) this.#job.log(`... and ${this.#more} more.`);
    this.#job.log(total === 0 ? "There is nothing to clean up." : `${this.#verb} ${plural(total, "thing")}.`);
    return {
      domain_id: domainId,
      dry_run: this.#job.dryRun,
      freed,
      things: this.#things,
      things_more: this.#more,
      left: this.left,
      problems: this.problems,
    };
  }

  get #verb(): string {
    return this.#job.dryRun ? "Would remove" : "Removed";
  }
}

function whereOf({ kind, domain_id, source_id }: FreedThing): string {
  const where = source_id ? `${domain_id}/${source_id}: ` : "";
  return `[${kind.replaceAll("_", " ")}] ${where}`;
}
