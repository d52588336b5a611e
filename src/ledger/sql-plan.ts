import type { ItemId } from "../contracts/ids.ts";
import type { Plan, PlanDraft, PlannedItem, PlanStep } from "../contracts/plan.ts";
import type { Sighting } from "../contracts/source.ts";
import { isListed, listsOf } from "../lib/sql/is-listed.ts";
import { readPages } from "../lib/sql/read-pages.ts";
import type { Sql, SqlDatabase, SqlValue } from "../lib/sql/sql.ts";
import { openTemporary } from "../lib/sql/sqlite-database.ts";

const PAGE = 500;
const COLUMNS = "plan_no, step, change, item_id, reason, name, path, told, anomaly, still_listed, strayed_to, sighting";

/** In the ledger for plans that are stored, in a temporary database for all others. */
export function planItemTable(dialect: Sql["dialect"]): string {
  const sqlite = dialect === "sqlite";
  const integer = sqlite ? "INTEGER" : "bigint";
  const text = sqlite ? "TEXT" : 'text COLLATE "C"';
  return `
-- What a step of a run does with one item.
CREATE TABLE plan_item (
  seq ${sqlite ? "INTEGER PRIMARY KEY" : "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
  plan_no ${integer} NOT NULL,
  step ${text} NOT NULL,
  change ${text} NOT NULL,
  item_id ${text} NOT NULL,
  reason ${text} NOT NULL,
  -- What a dry run says; '' where it says nothing.
  name ${text} NOT NULL,
  path ${text} NOT NULL,
  told ${text} NOT NULL,
  anomaly ${text} NOT NULL,
  still_listed ${integer} NOT NULL,
  strayed_to ${text} NOT NULL,
  -- What the source said of it, as JSON; '' if it was not listed.
  sighting ${text} NOT NULL
) ${sqlite ? "STRICT" : ""};
CREATE INDEX plan_item_of_item ON plan_item (plan_no, step, item_id);
CREATE INDEX plan_item_of_step ON plan_item (plan_no, step, seq);
`;
}

interface PlanRow {
  readonly seq: number;
  readonly step: PlanStep;
  readonly change: PlannedItem["change"];
  readonly item_id: ItemId;
  readonly reason: string;
  readonly name: string;
  readonly path: string;
  readonly told: string;
  readonly anomaly: string;
  readonly still_listed: number;
  readonly strayed_to: string;
  readonly sighting: string;
}

/** In the order in which a run takes them; skipped ones make room for what would change. */
const AS_TOLD = `CASE change WHEN 'skipped' THEN 1 ELSE 0 END, CASE step WHEN 'download' THEN 0 WHEN 'process' THEN 1 ELSE 2 END,
  CASE step WHEN 'download' THEN CASE change WHEN 'held' THEN 0 WHEN 'removed' THEN 1 WHEN 'moved' THEN 2 ELSE 3 END ELSE 0 END, seq`;

/** A plan in a table: of a run, gone with it; or one that is stored. */
export class SqlPlan implements PlanDraft {
  readonly #open: () => SqlDatabase;
  readonly #planNo: number;
  #db: SqlDatabase | undefined;
  #waiting: PlannedItem[] = [];
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(open: () => SqlDatabase, planNo: number) {
    this.#open = open;
    this.#planNo = planNo;
  }

  /** Most runs plan nothing: the database is opened when there is something to put into it. */
  static temporary(): SqlPlan {
    return new SqlPlan(() => openTemporary({ sql: planItemTable("sqlite") }), 0);
  }

  add(item: PlannedItem): void {
    this.#waiting.push(item);
    if (this.#waiting.length >= PAGE) this.#write();
  }

  replace(item: PlannedItem): void {
    const { step, itemId } = item;
    this.#write();
    this.#then(async (db) => {
      await db.run("DELETE FROM plan_item WHERE plan_no = $1 AND step = $2 AND item_id = $3", [
        this.#planNo,
        step,
        itemId,
      ]);
    });
    this.add(item);
  }

  async *items(step: PlanStep, changes: readonly PlannedItem["change"][]): AsyncGenerator<readonly PlannedItem[]> {
    const db = await this.#written();
    if (!db) return;
    const among = changes.map((_, at) => `$${at + 4}`).join(", ");
    const text = `SELECT * FROM plan_item WHERE plan_no = $1 AND step = $2 AND seq > $3 AND change IN (${among}) ORDER BY seq LIMIT ${PAGE}`;
    const read = (after: number): Promise<PlanRow[]> => db.all(text, [this.#planNo, step, after, ...changes]);
    for await (const rows of readPages(PAGE, ({ seq }) => seq, read)) yield rows.map(toItem);
  }

  async find(step: PlanStep, items: readonly ItemId[]): ReturnType<Plan["find"]> {
    const found = new Map<ItemId, PlannedItem>();
    const db = await this.#written();
    if (!db) return found;
    const text = `SELECT * FROM plan_item WHERE plan_no = $1 AND step = $2 AND ${isListed(db, "item_id", "$3", "text")} ORDER BY seq`;
    for (const list of listsOf(items)) {
      for (const row of await db.all<PlanRow>(text, [this.#planNo, step, list])) found.set(row.item_id, toItem(row));
    }
    return found;
  }

  async told(limit: number): ReturnType<Plan["told"]> {
    const db = await this.#written();
    if (!db) return { items: [], count: 0 };
    const which = "plan_item WHERE plan_no = $1 AND told <> ''";
    const rows = await db.all<PlanRow>(`SELECT * FROM ${which} ORDER BY ${AS_TOLD} LIMIT $2`, [this.#planNo, limit]);
    const counted = await db.get<{ count: number }>(`SELECT count(*) AS count FROM ${which}`, [this.#planNo]);
    return { items: rows.map(toItem), count: counted?.count ?? 0 };
  }

  async close(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.#db?.close();
  }

  #write(): void {
    const items = this.#waiting;
    if (items.length === 0) return;
    this.#waiting = [];
    const rows = items.map((item) => toValues(this.#planNo, item));
    this.#then((db) => db.insert(`plan_item (${COLUMNS})`, rows));
  }

  #then(work: (db: SqlDatabase) => Promise<void>): void {
    this.#db ??= this.#open();
    const db = this.#db;
    this.#writing = this.#writing.then(() => work(db));
    // Whoever reads next is told.
    this.#writing.catch(() => undefined);
  }

  /** undefined: nothing was ever planned. */
  async #written(): Promise<SqlDatabase | undefined> {
    this.#write();
    await this.#writing;
    return this.#db;
  }
}

function toValues(planNo: number, item: PlannedItem): SqlValue[] {
  const { step, change, itemId, reason, told, anomaly = "", stillListed = false, strayedTo = "", sighting } = item;
  const words = [told?.name ?? "", told?.path ?? "", told?.reason ?? ""];
  const said = sighting ? encode(sighting) : "";
  return [planNo, step, change, itemId, reason, ...words, anomaly, stillListed ? 1 : 0, strayedTo, said];
}

function toItem(row: PlanRow): PlannedItem {
  const { step, change, item_id: itemId, reason, name, path } = row;
  return {
    step,
    change,
    itemId,
    reason,
    ...(row.told && { told: { name, path, reason: row.told } }),
    ...(row.anomaly && { anomaly: row.anomaly as NonNullable<PlannedItem["anomaly"]> }),
    stillListed: row.still_listed === 1,
    ...(row.strayed_to && { strayedTo: row.strayed_to }),
    ...(row.sighting && { sighting: JSON.parse(row.sighting) as Sighting }),
  };
}

/** Field by field: sightings may make some of theirs when they are asked. */
function encode(sighting: Sighting): string {
  const { kind, itemId, listItemId, name, path, serverPath, url, rawUrl, documentType, form } = sighting;
  const { withheld, fingerprint, contentHash, dateIsLabel } = sighting;
  const said = { kind, itemId, listItemId, name, path, serverPath, url, rawUrl, documentType, form };
  return JSON.stringify({ ...said, withheld, fingerprint, contentHash, dateIsLabel });
}
