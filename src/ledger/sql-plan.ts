import { isSameSource, type SourceRef } from "../contracts/domain.ts";
import type { DomainId, ItemId, SourceId } from "../contracts/ids.ts";
import type {
  Plan,
  PlanCounts,
  PlanDraft,
  PlanFilter,
  PlanGroup,
  PlannedItem,
  PlannedSource,
  PlannedSourceKey,
  PlanStep,
  PlanTotal,
  ShownItem,
  StoredPlan,
  StoredPlans,
} from "../contracts/plan.ts";
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
import { compareText } from "../lib/text.ts";
import type { LedgerDatabases } from "./ledger-databases.ts";

const PAGE = 500;
const STEPS: readonly PlanStep[] = ["download", "process", "embed"];
const PLAN_COLUMNS = "plan_id, domain_id, kind, source_id, made_at, completed_at, about";
const COLUMNS =
  "plan_no, step, change, item_id, reason, told_order, name, folder, path, told, anomaly, still_listed, strayed_to, bytes, tokens, sighting";
/** The kind in the row for the plan as a whole. */
const HEAD = "domain";

/** In the ledger for stored plans, in a temporary database for others. */
export function planTables(dialect: Sql["dialect"]): string {
  const sqlite = dialect === "sqlite";
  const integer = sqlite ? "INTEGER" : "bigint";
  const real = sqlite ? "REAL" : "double precision";
  const text = sqlite ? "TEXT" : 'text COLLATE "C"';
  const serial = sqlite ? "INTEGER PRIMARY KEY" : "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
  const strict = sqlite ? "STRICT" : "";
  return `
-- A row for each source of a stored plan, and one of kind 'domain' for the plan itself.
CREATE TABLE plan (
  plan_no ${serial},
  plan_id ${text} NOT NULL,
  domain_id ${text} NOT NULL,
  kind ${text} NOT NULL,
  source_id ${text} NOT NULL,
  made_at ${text} NOT NULL,
  -- '' until the dry run that makes it has come to its end.
  completed_at ${text} NOT NULL,
  -- As JSON: of the plan, its request; of a source, what the dry run found out about it.
  about ${text} NOT NULL,
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
  -- That of path; '' is the root.
  folder ${text} NOT NULL,
  path ${text} NOT NULL,
  told ${text} NOT NULL,
  anomaly ${text} NOT NULL,
  still_listed ${integer} NOT NULL,
  strayed_to ${text} NOT NULL,
  -- To fetch or to embed; 0: nothing, or unknown.
  bytes ${real} NOT NULL,
  tokens ${real} NOT NULL,
  -- What the source said of it, as JSON; '' if it was not listed.
  sighting ${text} NOT NULL
) ${strict};
CREATE INDEX plan_item_of_item ON plan_item (plan_no, step, item_id);
CREATE INDEX plan_item_as_told ON plan_item (plan_no, told_order, seq);
CREATE INDEX plan_item_of_path ON plan_item (plan_no, path) WHERE change = 'added';
CREATE INDEX plan_item_of_step ON plan_item (plan_no, step, seq);
CREATE INDEX plan_item_in_groups ON plan_item (plan_no, step, change, folder, path, seq) WHERE told_order > 0;
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
  readonly bytes: number;
  readonly tokens: number;
  readonly sighting: string;
}

interface PlanPlace {
  readonly db: SqlDatabase;
  readonly planNo: number;
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
      await db.insert(`plan (plan_no, ${PLAN_COLUMNS})`, [[1, "", "", "", "", "", "", ""]]);
      return { db, planNo: 1 };
    }, true);
  }

  /** Replaces an earlier one of this id. */
  static async store(db: SqlDatabase, key: PlannedSourceKey, policy: string): Promise<SqlPlan> {
    const about: SourceAbout = { policy, complete: false, problem: "" };
    const planNo = await db.write((sql) => putPlan(sql, key, about));
    return new SqlPlan(async () => ({ db, planNo }), false);
  }

  /** undefined: there is no such plan. */
  static async read(db: SqlDatabase, key: PlannedSourceKey): Promise<SqlPlan | undefined> {
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

  items(step: PlanStep, changes: readonly PlannedItem["change"][]): AsyncGenerator<readonly PlannedItem[]> {
    return this.#pages(step, `AND change IN (${changes.map((_, at) => `$${at + 4}`).join(", ")})`, changes);
  }

  async *#pages(step: PlanStep, filter = "", values: readonly string[] = []): AsyncGenerator<readonly PlannedItem[]> {
    const { db, planNo } = (await this.#written()) ?? {};
    if (!db || planNo === undefined) return;
    const where = `plan_no = $1 AND step = $2 AND seq > $3 ${filter}`;
    const text = `SELECT * FROM plan_item WHERE ${where} ORDER BY seq LIMIT ${PAGE}`;
    const read = (after: number): Promise<PlanRow[]> => db.all(text, [planNo, step, after, ...values]);
    for await (const rows of readPages(PAGE, ({ seq }) => seq, read)) yield rows.map(toItem);
  }

  async count(step: PlanStep): ReturnType<Plan["count"]> {
    const { db, planNo } = (await this.#written()) ?? {};
    if (!db || planNo === undefined) return {};
    const text = "SELECT change, count(*) AS n FROM plan_item WHERE plan_no = $1 AND step = $2 GROUP BY change";
    const rows = await db.all<{ change: PlannedItem["change"]; n: number }>(text, [planNo, step]);
    return Object.fromEntries(rows.map(({ change, n }) => [change, Number(n)]));
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

  async *all(): AsyncGenerator<readonly PlannedItem[]> {
    for (const step of STEPS) yield* this.#pages(step);
  }

  async close(): Promise<void> {
    if (!this.#isTemporary) return void (await this.#written());
    await this.#writing.catch(() => undefined);
    const place = this.#place;
    this.#place = undefined;
    await (await place)?.db.close();
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

function valuesOf({ planId, domainId, sourceType, sourceId }: PlannedSourceKey): string[] {
  return [planId, domainId, sourceType, sourceId];
}

/** Replaces what is there under the same key; returns its number. */
async function putPlan(sql: Sql, key: PlannedSourceKey, about: object): Promise<number> {
  await sql.run(`DELETE FROM plan WHERE ${THE_PLAN}`, valuesOf(key));
  const values = [...valuesOf(key), new Date().toISOString(), "", storableText(JSON.stringify(about))];
  await sql.insert(`plan (${PLAN_COLUMNS})`, [values]);
  return (await findPlan(sql, key)) ?? 0;
}

async function findPlan(sql: Sql, key: PlannedSourceKey): Promise<number | undefined> {
  return (await sql.get<{ plan_no: number }>(`SELECT plan_no FROM plan WHERE ${THE_PLAN}`, valuesOf(key)))?.plan_no;
}

function toValues(planNo: number, item: PlannedItem): SqlValue[] {
  const { step, change, itemId, reason, told, anomaly = "", stillListed = false, strayedTo = "", sighting } = item;
  const { bytes = 0, tokens = 0 } = item;
  const { name = "", path = "", reason: why = "" } = told ?? {};
  const words = [name, folderOf(path), path, why].map(storableText);
  const said = sighting ? encode(sighting) : "";
  const about = [storableText(itemId), storableText(reason), told ? displayOrder(item) : 0];
  const stays = [anomaly, stillListed ? 1 : 0, storableText(strayedTo)];
  return [planNo, step, change, ...about, ...words, ...stays, bytes, tokens, said];
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** In the order of a run; skipped items last. What the index loses depends on how much that is, so it is told after the rest. */
function displayOrder({ step, change }: PlannedItem): number {
  if (change === "skipped") return 9;
  if (step === "process") return 5;
  if (step === "embed") return change === "removed" || change === "held" ? 7 : 6;
  return change === "held" ? 1 : change === "removed" ? 2 : change === "moved" ? 3 : 4;
}

function toItem(row: PlanRow): PlannedItem {
  const { step, change, item_id: itemId, reason, name, path, sighting } = row;
  const item = {
    step,
    change,
    itemId,
    reason,
    ...(row.told && { told: { name, path, reason: row.told } }),
    ...(row.anomaly && { anomaly: row.anomaly as NonNullable<PlannedItem["anomaly"]> }),
    stillListed: row.still_listed === 1,
    ...(row.strayed_to && { strayedTo: row.strayed_to }),
    ...(row.bytes > 0 && { bytes: row.bytes }),
    ...(row.tokens > 0 && { tokens: row.tokens }),
  };
  if (sighting === "") return item;
  // Parsed when it is asked for: most readers only want to know what is done with the item.
  return Object.defineProperty(item, "sighting", {
    get: () => JSON.parse(sighting) as Sighting,
    enumerable: true,
  });
}

/** Field by field: sightings may compute some lazily. */
function encode(sighting: Sighting): string {
  const { kind, itemId, listItemId, name, path, serverPath, url, rawUrl, documentType, form } = sighting;
  const { withheld, fingerprint, contentHash, dateIsLabel } = sighting;
  const said = { kind, itemId, listItemId, name, path, serverPath, url, rawUrl, documentType, form };
  return JSON.stringify({ ...said, withheld, fingerprint, contentHash, dateIsLabel });
}

/** A source in the column `about`. */
type SourceAbout = Pick<PlannedSource, "policy" | "complete" | "problem">;

interface HeadRow {
  readonly plan_id: string;
  readonly domain_id: DomainId;
  readonly kind: string;
  readonly source_id: SourceId;
  readonly made_at: string;
  readonly completed_at: string;
  readonly about: string;
}

const HEADS = `SELECT ${PLAN_COLUMNS} FROM plan`;
const COUNTS =
  "count(*) AS items, sum(bytes) AS bytes, sum(tokens) AS tokens, sum(CASE WHEN bytes = 0 THEN 1 ELSE 0 END) AS unsized";
/** The order in which changes are shown. */
const IN_ORDER = ["removed", "held", "failed", "moved", "changed", "added", "skipped"];

/** The plans in the ledgers. */
export function openStoredPlans(databases: LedgerDatabases): StoredPlans {
  const rowsOf = async (where: string, values: readonly string[]): Promise<readonly StoredPlan[]> => {
    const found = await Promise.all(
      (await databases.all()).map((db) => db.all<HeadRow>(`${HEADS} WHERE ${where} ORDER BY plan_no`, values)),
    );
    return gather(found.flat());
  };
  const partsOf = async ({ domainId, planId }: StoredPlan): Promise<{ db: SqlDatabase; parts: PlanPart[] }> => {
    const db = await databases.open(domainId);
    const text = `SELECT plan_no, kind, source_id FROM plan WHERE domain_id = $1 AND plan_id = $2 AND kind <> '${HEAD}'`;
    return { db, parts: await db.all<PlanPart>(text, [domainId, planId]) };
  };
  return {
    async begin({ planId, domainId, request }) {
      const db = await databases.open(domainId);
      await db.write(async (sql) => {
        await sql.run("DELETE FROM plan WHERE domain_id = $1 AND plan_id = $2", [domainId, planId]);
        await putPlan(sql, { planId, domainId, sourceType: HEAD, sourceId: "" as SourceId }, request);
      });
    },
    async write(source, policy) {
      return await SqlPlan.store(await databases.open(source.domainId), source, policy);
    },
    async complete({ planId, domainId }, outcomes) {
      const db = await databases.open(domainId);
      await db.write(async (sql) => {
        for (const { sourceType, sourceId, complete, problem } of outcomes) {
          const key = { planId, domainId, sourceType, sourceId };
          const row = await sql.get<{ about: string }>(`SELECT about FROM plan WHERE ${THE_PLAN}`, valuesOf(key));
          if (!row) continue;
          const about: SourceAbout = { ...(JSON.parse(row.about) as SourceAbout), complete, problem };
          const text = storableText(JSON.stringify(about));
          await sql.run(`UPDATE plan SET about = $5 WHERE ${THE_PLAN}`, [...valuesOf(key), text]);
        }
        const now = new Date().toISOString();
        await sql.run("UPDATE plan SET completed_at = $3 WHERE domain_id = $1 AND plan_id = $2", [
          domainId,
          planId,
          now,
        ]);
      });
    },
    find: async (planId) => (await rowsOf("plan_id = $1", [planId]))[0],
    async list(domainId) {
      const db = await databases.find(domainId);
      const text = `${HEADS} WHERE domain_id = $1 ORDER BY plan_no`;
      return gather((await db?.all<HeadRow>(text, [domainId])) ?? []).reverse();
    },
    async read(source) {
      const db = await databases.find(source.domainId);
      return db && (await SqlPlan.read(db, source));
    },
    async totals(plan) {
      const { db, parts } = await partsOf(plan);
      const totals: PlanTotal[] = [];
      for (const { plan_no, ...source } of parts) {
        const text = `SELECT step, change, ${COUNTS} FROM plan_item WHERE plan_no = $1 AND told_order > 0 GROUP BY step, change`;
        const rows = await db.all<PlanCounts & Pick<PlanTotal, "step" | "change">>(text, [plan_no]);
        totals.push(...rows.map((counts) => ({ ...counts, ...sourceOf(source) })));
      }
      return totals;
    },
    async groups(plan, filter, part) {
      const { db, parts } = await partsOf(plan);
      return await readSegments(await segmentsOf(db, parts, filter, "DISTINCT folder"), part, async (segment, take) => {
        const { where, values, source, change } = segment;
        const text = `SELECT folder, ${COUNTS} FROM plan_item WHERE ${where} GROUP BY folder ORDER BY folder ${takeOf(values)}`;
        const rows = await db.all<PlanCounts & { readonly folder: string }>(text, [...values, ...take]);
        return rows.map((group): PlanGroup => ({ change, ...source, ...group }));
      });
    },
    async shown(plan, filter, part) {
      const { db, parts } = await partsOf(plan);
      return await readSegments(await segmentsOf(db, parts, filter, "*"), part, async (segment, take) => {
        const { where, values, source } = segment;
        const text = `SELECT * FROM plan_item WHERE ${where} ORDER BY folder, path, seq ${takeOf(values)}`;
        const rows = await db.all<PlanRow & { readonly folder: string }>(text, [...values, ...take]);
        return rows.map((row): ShownItem => {
          const { itemId, step, change, bytes, tokens } = toItem(row);
          const { name, path, told, folder } = row;
          return { itemId, step, change, bytes, tokens, name, path, reason: told, folder, source };
        });
      });
    },
    async discard({ planId, domainId }) {
      const db = await databases.find(domainId);
      await db?.run("DELETE FROM plan WHERE domain_id = $1 AND plan_id = $2", [domainId, planId]);
    },
  };
}

/** What a plan has of one source. */
interface PlanPart {
  readonly plan_no: number;
  readonly kind: string;
  readonly source_id: SourceId;
}

function sourceOf({ kind, source_id }: Omit<PlanPart, "plan_no">): SourceRef {
  return { sourceType: kind, sourceId: source_id };
}

/** Rows of one plan follow one another or not; those of its sources come after its head. */
function gather(rows: readonly HeadRow[]): StoredPlan[] {
  const byPlan = Map.groupBy(rows, ({ domain_id, plan_id }) => `${domain_id} ${plan_id}`);
  return [...byPlan.values()].flatMap((own) => {
    const head = own.find(({ kind }) => kind === HEAD);
    if (!head) return [];
    const isComplete = own.every(({ completed_at }) => completed_at !== "");
    return {
      planId: head.plan_id,
      domainId: head.domain_id,
      madeAt: head.made_at,
      completedAt: isComplete ? head.completed_at : "",
      request: JSON.parse(head.about) as StoredPlan["request"],
      sources: own
        .filter((row) => row !== head)
        .map(({ kind, source_id, about }) => {
          return { sourceType: kind, sourceId: source_id, ...(JSON.parse(about) as SourceAbout) };
        }),
    };
  });
}

/** The items of one change and source: each is read by an index, in its order, so that a page of many items is cheap. */
interface Segment {
  readonly change: PlannedItem["change"];
  readonly source: SourceRef;
  readonly where: string;
  readonly values: readonly SqlValue[];
  readonly count: number;
}

/** In order, without empty ones. `counted`: what a row of the page is. */
async function segmentsOf(
  db: SqlDatabase,
  parts: readonly PlanPart[],
  { step, change, source, folder, text }: PlanFilter,
  counted: string,
): Promise<readonly Segment[]> {
  const wanted = parts
    .filter(({ kind, source_id }) => !source || isSameSource(source, { sourceType: kind, sourceId: source_id }))
    .sort((a, b) => compareText(`${a.source_id} ${a.kind}`, `${b.source_id} ${b.kind}`));
  const segments: Segment[] = [];
  for (const { plan_no, ...own } of wanted) {
    const values: SqlValue[] = [plan_no, step];
    const conditions = ["plan_no = $1", "step = $2", "told_order > 0"];
    const place = (value: SqlValue): string => `$${values.push(value)}`;
    if (folder !== undefined) conditions.push(`folder = ${place(storableText(folder))}`);
    if (text) conditions.push(occursIn(["path", "name", "told"], place(storableText(text)), db.dialect));
    const where = conditions.join(" AND ");
    const rows = await db.all<{ change: PlannedItem["change"]; count: number }>(
      `SELECT change, count(${counted}) AS count FROM plan_item WHERE ${where} GROUP BY change`,
      values,
    );
    for (const row of rows.filter((one) => change === undefined || one.change === change)) {
      const ofChange = { where: `${where} AND change = $${values.length + 1}`, values: [...values, row.change] };
      segments.push({ ...row, ...ofChange, source: sourceOf(own) });
    }
  }
  const rank = (segment: Segment): number => IN_ORDER.indexOf(segment.change);
  return segments.sort((a, b) => rank(a) - rank(b));
}

function occursIn(columns: readonly string[], words: string, dialect: Sql["dialect"]): string {
  const occurs = dialect === "sqlite" ? "instr" : "strpos";
  return `(${columns.map((column) => `${occurs}(lower(${column}), lower(${words})) > 0`).join(" OR ")})`;
}

/** Reads one page across the segments. */
async function readSegments<Row>(
  segments: readonly Segment[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
  read: (segment: Segment, take: readonly [limit: number, offset: number]) => Promise<readonly Row[]>,
): Promise<{ readonly rows: readonly Row[]; readonly total: number }> {
  const rows: Row[] = [];
  let before = 0;
  for (const segment of segments) {
    const from = Math.max(0, offset - before);
    if (from < segment.count && rows.length < limit) rows.push(...(await read(segment, [limit - rows.length, from])));
    before += segment.count;
  }
  return { rows, total: before };
}

function takeOf(values: readonly SqlValue[]): string {
  return `LIMIT $${values.length + 1} OFFSET $${values.length + 2}`;
}
