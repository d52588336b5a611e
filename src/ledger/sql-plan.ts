import type { DomainId, ItemId } from "../contracts/ids.ts";
import type { Plan, PlanDraft, PlannedItem, PlanState, PlanStep } from "../contracts/plan.ts";
import type { Sighting } from "../contracts/source.ts";
import {
  isListed,
  listOf,
  listsOf,
  readPages,
  type Sql,
  type SqlDatabase,
  type SqlValue,
  storableText,
} from "../lib/sql/sql.ts";
import { openTemporary } from "../lib/sql/sqlite-database.ts";
import type { SourceKey } from "./source-row.ts";

const PAGE = 500;
const PLAN_COLUMNS = "plan_id, domain_id, kind, source_id, made_at, completed_at";
const COLUMNS =
  "plan_no, step, change, item_id, reason, told_order, name, path, told, anomaly, still_listed, strayed_to, sighting";

/** In the ledger for stored plans, in a temporary database for others. */
export function planTables(dialect: Sql["dialect"]): string {
  const sqlite = dialect === "sqlite";
  const integer = sqlite ? "INTEGER" : "bigint";
  const text = sqlite ? "TEXT" : 'text COLLATE "C"';
  const serial = sqlite ? "INTEGER PRIMARY KEY" : "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
  const strict = sqlite ? "STRICT" : "";
  return `
CREATE TABLE plan (
  plan_no ${serial},
  plan_id ${text} NOT NULL,
  domain_id ${text} NOT NULL,
  kind ${text} NOT NULL,
  source_id ${text} NOT NULL,
  made_at ${text} NOT NULL,
  -- '' until the dry run that makes it has come to its end.
  completed_at ${text} NOT NULL,
  UNIQUE (plan_id, domain_id, kind, source_id)
) ${strict};

-- What a step of a run does with one item.
CREATE TABLE plan_item (
  seq ${serial},
  plan_no ${integer} NOT NULL REFERENCES plan ON DELETE CASCADE,
  step ${text} NOT NULL,
  change ${text} NOT NULL,
  item_id ${text} NOT NULL,
  reason ${text} NOT NULL,
  -- What a dry run says, and when; 0 and '' where it says nothing.
  told_order ${integer} NOT NULL,
  name ${text} NOT NULL,
  path ${text} NOT NULL,
  told ${text} NOT NULL,
  anomaly ${text} NOT NULL,
  still_listed ${integer} NOT NULL,
  strayed_to ${text} NOT NULL,
  -- What the source said of it, as JSON; '' if it was not listed.
  sighting ${text} NOT NULL
) ${strict};
CREATE INDEX plan_item_of_item ON plan_item (plan_no, step, item_id);
CREATE INDEX plan_item_as_told ON plan_item (plan_no, told_order, seq);
CREATE INDEX plan_item_of_path ON plan_item (plan_no, path) WHERE change = 'added';
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

/** A plan of a source. */
interface PlanKey extends Pick<SourceKey, "domainId" | "kind" | "sourceId"> {
  readonly planId: string;
}

interface PlanPlace {
  readonly db: SqlDatabase;
  readonly planNo: number;
}

/** Deletes the plan of this id, for all sources. */
export async function dropPlan(db: SqlDatabase, domainId: DomainId, planId: string): Promise<void> {
  await db.run("DELETE FROM plan WHERE domain_id = $1 AND plan_id = $2", [domainId, planId]);
}

export async function completePlan(db: SqlDatabase, domainId: DomainId, planId: string): Promise<void> {
  const text = "UPDATE plan SET completed_at = $3 WHERE domain_id = $1 AND plan_id = $2";
  await db.run(text, [domainId, planId, new Date().toISOString()]);
}

export async function planState(db: SqlDatabase, domainId: DomainId, planId: string): Promise<PlanState> {
  const text = "SELECT min(completed_at) AS first FROM plan WHERE domain_id = $1 AND plan_id = $2";
  const { first } = (await db.get<{ first: string | null }>(text, [domainId, planId])) ?? { first: null };
  return first === null ? "none" : first === "" ? "incomplete" : "complete";
}

const THE_PLAN = "plan_id = $1 AND domain_id = $2 AND kind = $3 AND source_id = $4";

/** A plan in a table: a temporary one of a run, or a stored one. */
export class SqlPlan implements PlanDraft {
  readonly #open: () => Promise<PlanPlace>;
  readonly #isTemporary: boolean;
  #place: Promise<PlanPlace> | undefined;
  #waiting: PlannedItem[] = [];
  /** Items that were judged again, by step and item. */
  #judgedAgain = new Map<string, PlannedItem>();
  #writing: Promise<unknown> = Promise.resolve();

  private constructor(open: () => Promise<PlanPlace>, isTemporary: boolean) {
    this.#open = open;
    this.#isTemporary = isTemporary;
  }

  /** Most runs plan nothing: the database is opened on the first write. */
  static temporary(): SqlPlan {
    return new SqlPlan(async () => {
      const db = openTemporary({ sql: planTables("sqlite") });
      await db.insert(`plan (plan_no, ${PLAN_COLUMNS})`, [[1, "", "", "", "", "", ""]]);
      return { db, planNo: 1 };
    }, true);
  }

  /** Replaces an earlier one of this id. */
  static async store(db: SqlDatabase, key: PlanKey): Promise<SqlPlan> {
    const planNo = await db.write(async (sql) => {
      await sql.run(`DELETE FROM plan WHERE ${THE_PLAN}`, valuesOf(key));
      await sql.insert(`plan (${PLAN_COLUMNS})`, [[...valuesOf(key), new Date().toISOString(), ""]]);
      return (await findPlan(sql, key)) ?? 0;
    });
    return new SqlPlan(async () => ({ db, planNo }), false);
  }

  /** undefined: there is no such plan. */
  static async read(db: SqlDatabase, key: PlanKey): Promise<SqlPlan | undefined> {
    const planNo = await findPlan(db, key);
    if (planNo === undefined) return undefined;
    const plan = new SqlPlan(async () => ({ db, planNo }), false);
    plan.#place = plan.#open();
    return plan;
  }

  add(item: PlannedItem): void {
    this.#waiting.push(item);
    if (this.#waiting.length >= PAGE) this.#write();
  }

  replace(item: PlannedItem): void {
    this.#judgedAgain.set(`${item.step} ${item.itemId}`, item);
    if (this.#judgedAgain.size >= PAGE) this.#write();
  }

  async *items(step: PlanStep, changes: readonly PlannedItem["change"][]): AsyncGenerator<readonly PlannedItem[]> {
    const { db, planNo } = (await this.#written()) ?? {};
    if (!db || planNo === undefined) return;
    const among = changes.map((_, at) => `$${at + 4}`).join(", ");
    const where = `plan_no = $1 AND step = $2 AND seq > $3 AND change IN (${among})`;
    const text = `SELECT * FROM plan_item WHERE ${where} ORDER BY seq LIMIT ${PAGE}`;
    const read = (after: number): Promise<PlanRow[]> => db.all(text, [planNo, step, after, ...changes]);
    for await (const rows of readPages(PAGE, ({ seq }) => seq, read)) yield rows.map(toItem);
  }

  async find(step: PlanStep, items: readonly ItemId[]): ReturnType<Plan["find"]> {
    const found = new Map<ItemId, PlannedItem>();
    const { db, planNo } = (await this.#written()) ?? {};
    if (!db || planNo === undefined) return found;
    const where = `plan_no = $1 AND step = $2 AND ${isListed(db, "item_id", "$3", "text")}`;
    for (const list of listsOf(items)) {
      const rows = await db.all<PlanRow>(`SELECT * FROM plan_item WHERE ${where}`, [planNo, step, list]);
      // Sorted here: PostgreSQL might read the whole table in its order instead.
      for (const row of rows.sort((a, b) => a.seq - b.seq)) found.set(row.item_id, toItem(row));
    }
    return found;
  }

  async findNew(paths: readonly string[]): ReturnType<Plan["findNew"]> {
    const found = new Map<string, PlannedItem>();
    const { db, planNo } = (await this.#written()) ?? {};
    if (!db || planNo === undefined) return found;
    const where = `plan_no = $1 AND change = 'added' AND step = 'download' AND ${isListed(db, "path", "$2", "text")}`;
    for (const list of listsOf(paths)) {
      const rows = await db.all<PlanRow>(`SELECT * FROM plan_item WHERE ${where}`, [planNo, list]);
      for (const row of rows) found.set(row.path, toItem(row));
    }
    return found;
  }

  async told(limit: number): ReturnType<Plan["told"]> {
    const { db, planNo } = (await this.#written()) ?? {};
    if (!db || planNo === undefined) return { items: [], count: 0 };
    const which = "plan_item WHERE plan_no = $1 AND told_order > 0";
    const rows = await db.all<PlanRow>(`SELECT * FROM ${which} ORDER BY told_order, seq LIMIT $2`, [planNo, limit]);
    const counted = await db.get<{ count: number }>(`SELECT count(*) AS count FROM ${which}`, [planNo]);
    return { items: rows.map(toItem), count: counted?.count ?? 0 };
  }

  async close(): Promise<void> {
    if (!this.#isTemporary) return void (await this.#written());
    await this.#writing.catch(() => undefined);
    await (await this.#place)?.db.close();
  }

  #write(): void {
    const added = this.#waiting;
    const again = [...this.#judgedAgain.values()];
    if (added.length + again.length === 0) return;
    this.#waiting = [];
    this.#judgedAgain = new Map();
    this.#then(async ({ db, planNo }) => {
      const insert = async (items: readonly PlannedItem[]): Promise<void> => {
        const rows = items.map((item) => toValues(planNo, item));
        if (rows.length > 0) await db.insert(`plan_item (${COLUMNS})`, rows);
      };
      await insert(added);
      const where = `plan_no = $1 AND step = $2 AND ${isListed(db, "item_id", "$3", "text")}`;
      for (const [step, items] of Map.groupBy(again, (item) => item.step)) {
        const ids = listOf(items.map(({ itemId }) => itemId));
        await db.run(`DELETE FROM plan_item WHERE ${where}`, [planNo, step, ids]);
      }
      await insert(again);
    });
  }

  #then(work: (place: PlanPlace) => Promise<void>): void {
    this.#place ??= this.#open();
    const place = this.#place;
    this.#writing = this.#writing.then(async () => work(await place));
    // The next read reports the error.
    this.#writing.catch(() => undefined);
  }

  /** undefined: nothing was planned. */
  async #written(): Promise<PlanPlace | undefined> {
    this.#write();
    await this.#writing;
    return await this.#place;
  }
}

function valuesOf({ planId, domainId, kind, sourceId }: PlanKey): string[] {
  return [planId, domainId, kind, sourceId];
}

async function findPlan(sql: Sql, key: PlanKey): Promise<number | undefined> {
  return (await sql.get<{ plan_no: number }>(`SELECT plan_no FROM plan WHERE ${THE_PLAN}`, valuesOf(key)))?.plan_no;
}

function toValues(planNo: number, item: PlannedItem): SqlValue[] {
  const { step, change, itemId, reason, told, anomaly = "", stillListed = false, strayedTo = "", sighting } = item;
  const words = [told?.name ?? "", told?.path ?? "", told?.reason ?? ""].map(storableText);
  const said = sighting ? encode(sighting) : "";
  const about = [storableText(itemId), storableText(reason), told ? displayOrder(item) : 0];
  return [planNo, step, change, ...about, ...words, anomaly, stillListed ? 1 : 0, strayedTo, said];
}

/** In the order of a run; skipped items last. */
function displayOrder({ step, change }: PlannedItem): number {
  if (change === "skipped") return 9;
  if (step !== "download") return step === "process" ? 5 : 6;
  return change === "held" ? 1 : change === "removed" ? 2 : change === "moved" ? 3 : 4;
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

/** Field by field: sightings may compute some lazily. */
function encode(sighting: Sighting): string {
  const { kind, itemId, listItemId, name, path, serverPath, url, rawUrl, documentType, form } = sighting;
  const { withheld, fingerprint, contentHash, dateIsLabel } = sighting;
  const said = { kind, itemId, listItemId, name, path, serverPath, url, rawUrl, documentType, form };
  return JSON.stringify({ ...said, withheld, fingerprint, contentHash, dateIsLabel });
}
