import type { Converter } from "../../contracts/converter.ts";
import type { JobContext } from "../../contracts/job.ts";
import type { Ledger, LedgerEntry } from "../../contracts/ledger.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { listFiles } from "../../mirror/list-files.ts";
import type { Mirror } from "../../mirror/mirror.ts";
import { companionOf } from "../verify-mirror.ts";
import type { Findings } from "./verify-findings.ts";

const PAGE = 200;

interface StrangerTools {
  readonly crawlerFolder: string;
  readonly mirror: Mirror;
  readonly converter: Converter | undefined;
  readonly ledger: Ledger;
  readonly db: SqlDatabase;
  readonly job: JobContext;
  readonly findings: Findings;
}

/** Files of the mirror that no ledger entry has. */
export class Strangers {
  readonly #tools: StrangerTools;
  readonly #originals = new Set<string>();

  constructor(tools: StrangerTools) {
    this.#tools = tools;
  }

  /** Files that no ledger entry has wait as strangers until all items were asked whether they belong to them. */
  async list(): Promise<void> {
    const { crawlerFolder, mirror, converter, ledger, db, job } = this.#tools;
    for await (const files of listFiles(crawlerFolder, mirror.root)) {
      await job.checkpoint();
      const owned = await ledger.filesAmong(files);
      const strangers = files.filter((file) => !owned.has(file));
      await db.insert(
        "stranger (path)",
        strangers.map((path) => [path]),
        "ON CONFLICT DO NOTHING",
      );
      if (!converter) continue;
      for (const path of mirror.originalsAmong(files)) this.#originals.add(path);
    }
  }

  /** The file that belongs to the same item: its original, or the document made of it. */
  async knowCompanion(entry: LedgerEntry): Promise<void> {
    const companion = companionOf(entry, this.#originals, this.#tools);
    if (companion) await this.know(companion);
  }

  async know(file: string): Promise<void> {
    await this.#tools.db.run("DELETE FROM stranger WHERE path = $1", [file]);
  }

  async tell(): Promise<void> {
    for (let after = ""; ; ) {
      const rows = await this.#tools.db.all<{ path: string }>(
        `SELECT path FROM stranger WHERE path > $1 ORDER BY path LIMIT ${PAGE}`,
        [after],
      );
      for (const { path } of rows) {
        const detail = "a file on disk that no item has";
        this.#tools.findings.tell({ layer: "mirror", part: "", item_id: "", path, detail, crawl: "deletes it" });
      }
      if (rows.length < PAGE) break;
      after = rows.at(-1)?.path ?? "";
    }
  }
}
