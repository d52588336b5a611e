import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type {
  DocumentVersion,
  DocumentWanted,
  Generation,
  GenerationChange,
  GenerationState,
  Generations,
} from "../../contracts/search-index.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { type DifferenceRow, differenceBetween, generationsBetween } from "../storage/difference.ts";
import { documentVersions } from "../storage/document-versions.ts";
import { abandonDrafts, isKept, keptGenerations, releasePin, rollbackTo } from "../storage/generations.ts";
import { readState, writeInTurn } from "../storage/state.ts";
import type { Store } from "../storage/store.ts";
import { fromUnixSeconds } from "./ref-of.ts";

const PAGE = 1000;

export interface EmbeddedGenerationsOptions {
  readonly store: () => Promise<Store>;
  /** undefined: changes of all domains. */
  readonly domain: DomainId | undefined;
  readonly nowSeconds: () => number;
}

/** The kept states of a vector store. All domains of a store go back together: they share its generations. */
export class EmbeddedGenerations implements Generations {
  readonly #options: EmbeddedGenerationsOptions;

  constructor(options: EmbeddedGenerationsOptions) {
    this.#options = options;
  }

  async state(): Promise<GenerationState> {
    const { active, pinned } = await readState((await this.#options.store()).db);
    return { active, pinned: pinned === 1 };
  }

  async kept(): Promise<Generation[]> {
    const { db } = await this.#options.store();
    return db.read(async (sql) => {
      const { active } = await readState(sql);
      const crawls = new Set<string>();
      return (await keptGenerations(sql)).map(({ id: _, committedAt, ...row }) => {
        // Newest first: of what a crawl committed, the first that is met is how it ended.
        const intermediate = row.crawl !== "" && crawls.has(row.crawl);
        crawls.add(row.crawl);
        return { ...row, intermediate, committedAt: fromUnixSeconds(committedAt), visible: row.number <= active };
      });
    });
  }

  async rollback(number: number): Promise<void> {
    const { db } = await this.#options.store();
    await writeInTurn(db, async (sql) => {
      if (!(await rollbackTo(sql, number))) throw await notKept(sql, "roll back", number);
      // What an open draft would end or leave alone was read from the state that is left here.
      await abandonDrafts(sql, this.#options.nowSeconds());
    });
  }

  async release(): Promise<void> {
    await writeInTurn((await this.#options.store()).db, releasePin);
  }

  async *difference(from: number, to: number): AsyncGenerator<GenerationChange[]> {
    const { db } = await this.#options.store();
    for (const number of [from, to]) {
      if (!(await isKept(db, number))) throw await notKept(db, "compare generations", number);
    }
    for (const generation of await generationsBetween(db, from, to)) {
      for (const end of ["born", "died"] as const) {
        for await (const rows of pages(db, { from, to }, { end, generation })) {
          const changes = rows.filter((row) => this.#isOurs(row)).flatMap(changeOf);
          if (changes.length > 0) yield changes;
        }
      }
    }
  }

  async versions(wanted: DocumentWanted): Promise<DocumentVersion[]> {
    const { domain } = this.#options;
    if (domain === undefined) return [];
    const rows = await documentVersions((await this.#options.store()).db, domain, wanted);
    return rows.map((row) => ({ ...row, visible: row.visible === 1 }));
  }

  #isOurs({ domainId }: DifferenceRow): boolean {
    return this.#options.domain === undefined || this.#options.domain === domainId;
  }
}

async function* pages(
  db: SqlDatabase,
  range: { readonly from: number; readonly to: number },
  which: { readonly end: "born" | "died"; readonly generation: number },
): AsyncGenerator<DifferenceRow[]> {
  for (let afterId = 0; ; ) {
    const rows = await differenceBetween(db, range, { ...which, afterId, limit: PAGE });
    yield rows;
    if (rows.length < PAGE) return;
    afterId = rows.at(-1)?.id ?? 0;
  }
}

/** Each item has at most one row that `from` shows and one that `to` shows; the latter speaks for both. */
function changeOf(row: DifferenceRow): GenerationChange[] {
  const { sourceId, itemId, name, path, inFrom, inTo, hasOther } = row;
  if (inFrom === inTo) return [];
  if (inTo) return [{ kind: hasOther ? "changed" : "added", sourceId, itemId, name, path }];
  return hasOther ? [] : [{ kind: "removed", sourceId, itemId, name, path }];
}

async function notKept(sql: Parameters<typeof keptGenerations>[0], verb: string, number: number): Promise<Error> {
  const kept = (await keptGenerations(sql)).map((row) => row.number);
  const which = kept.length === 0 ? "none is kept" : `kept are ${kept.join(", ")}`;
  return new BadInputError(`${verb}: there is no generation ${number} any more, or not yet; ${which}`);
}
