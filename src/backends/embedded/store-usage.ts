import type { Store } from "../../index/store.ts";
import { readState } from "../../index/store-state.ts";

export interface Usage {
  readonly inProgress: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Of what is completed. */
  readonly bytes: number;
}

const COUNTED = {
  in_progress: "inProgress",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
} as const;

/** Counting a large store takes a while and nothing changes without its revision, so the last count is remembered. */
export class StoreUsage {
  readonly #counts = new Map<string, { readonly revision: number; readonly usage: Usage }>();

  /** What the active generation shows. */
  async of(id: string, store: Store): Promise<Usage> {
    return store.db.read(async (sql) => {
      const { visibleRevision: revision } = await readState(sql);
      const known = this.#counts.get(id);
      if (known?.revision === revision) return known.usage;
      const rows = await sql.all<{ status: keyof typeof COUNTED; files: number; bytes: number }>(
        "SELECT status, count(*) AS files, sum(bytes) AS bytes FROM documents_active GROUP BY status",
      );
      const usage = { inProgress: 0, completed: 0, failed: 0, cancelled: 0, bytes: 0 };
      for (const { status, files, bytes } of rows) {
        usage[COUNTED[status]] = files;
        if (status === "completed") usage.bytes = bytes;
      }
      this.#counts.set(id, { revision, usage });
      return usage;
    });
  }

  forget(id: string): void {
    this.#counts.delete(id);
  }
}
