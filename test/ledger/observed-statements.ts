import { DatabaseSync, type StatementSync } from "node:sqlite";
import pg from "pg";
import { ledgerTables } from "../../src/ledger/ledger-tables.ts";

const STATEMENT = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i;

/** Every statement that this process prepares from now on for a ledger in SQLite. */
export function observeSqlite(): ReadonlySet<string> {
  const texts = new Set<string>();
  const { prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, text: string, ...rest: []): StatementSync {
    if (this.location()?.endsWith("ledger.sqlite")) texts.add(text);
    return prepare.call(this, text, ...rest);
  };
  return texts;
}

/** Every statement that this process sends from now on to a PostgreSQL server. */
export function observePostgres(): ReadonlySet<string> {
  const texts = new Set<string>();
  const query = pg.Client.prototype.query as (...all: unknown[]) => unknown;
  Object.assign(pg.Client.prototype, {
    query(this: pg.Client, asked: unknown, ...rest: unknown[]) {
      const text = typeof asked === "string" ? asked : (asked as { readonly text?: unknown }).text;
      if (typeof text === "string") texts.add(text);
      return query.call(this, asked, ...rest);
    },
  });
  return texts;
}

/** Those that read a whole table with a row for each item, with the plan of SQLite. */
export function scansInSqlite(statements: Iterable<string>): string[] {
  const db = new DatabaseSync(":memory:");
  try {
    db.exec(ledgerTables("sqlite").sql);
    const tables = db.prepare("SELECT m.name FROM sqlite_schema m WHERE m.type = 'table'").all() as { name: string }[];
    const columns = db.prepare("SELECT name FROM pragma_table_info(?)");
    const large = tables.map(({ name }) => name).filter((name) => isLarge(columns.all(name) as { name: string }[]));
    return [...statements].filter(isPlanned).flatMap((text) => {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all() as { detail: string }[];
      const scanned = plan.flatMap(({ detail }) => /^SCAN (\w+)/.exec(detail)?.[1] ?? []);
      const isScan = scanned.some((name) => large.includes(tableOf(name, text)));
      // A page that is sorted first is read from all of them.
      const isSorted = /\bLIMIT\b/i.test(text) && plan.some(({ detail }) => detail === "USE TEMP B-TREE FOR ORDER BY");
      return isScan || isSorted ? [`${text}\n  ${plan.map(({ detail }) => detail).join("\n  ")}`] : [];
    });
  } finally {
    db.close();
  }
}

/** References to rows of another table that SQLite would have to look for in the whole table when such a row is deleted. */
export function unindexedReferences(): string[] {
  const db = new DatabaseSync(":memory:");
  try {
    db.exec(ledgerTables("sqlite").sql);
    const references = `SELECT m.name AS child, f."from" AS column FROM sqlite_schema m, pragma_foreign_key_list(m.name) f
      WHERE m.type = 'table'`;
    const plan = (child: string, column: string): string[] =>
      db
        .prepare(`EXPLAIN QUERY PLAN SELECT 1 FROM ${child} WHERE ${column} = ?`)
        .all()
        .map((row) => String(row["detail"]));
    return (db.prepare(references).all() as { child: string; column: string }[])
      .filter(({ child, column }) => plan(child, column).some((detail) => detail.startsWith("SCAN")))
      .map(({ child, column }) => `${child}.${column}`);
  } finally {
    db.close();
  }
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Those that can only be run by reading a whole table with a row for each item, with what PostgreSQL would do. */
export async function scansInPostgres(url: string, statements: Iterable<string>): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      // Tables of tests are so small that joining all of both is cheapest.
      "SET search_path = lockstep_ledger; SET enable_seqscan = off; SET enable_sort = off; SET enable_mergejoin = off; SET enable_hashjoin = off; SET plan_cache_mode = force_generic_plan",
    );
    const columns = await client.query(
      "SELECT table_name, column_name AS name FROM information_schema.columns WHERE table_schema = 'lockstep_ledger'",
    );
    const tables = Map.groupBy(columns.rows as { table_name: string; name: string }[], ({ table_name }) => table_name);
    const large = new Set([...tables].filter(([, all]) => isLarge(all)).map(([name]) => name));
    const indexes = await client.query(
      `SELECT i.relname AS name, t.relname AS table, a.attname AS leading FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
       JOIN pg_class t ON t.oid = x.indrelid JOIN pg_attribute a ON a.attrelid = i.oid AND a.attnum = 1
       WHERE t.relnamespace = 'lockstep_ledger'::regnamespace`,
    );
    const leading = new Map(
      (indexes.rows as { name: string; table: string; leading: string }[])
        .filter(({ table }) => large.has(table))
        .map((index) => [index.name, index.leading]),
    );
    const isScan = (node: PlanNode): boolean => {
      if (node["Node Type"] === "Seq Scan") return large.has(node["Relation Name"] ?? "");
      // An index that is not entered by its first column is read whole, or nearly.
      const column = leading.get(node["Index Name"] ?? "");
      return column !== undefined && !(node["Index Cond"] ?? "").includes(column);
    };
    const found: string[] = [];
    for (const text of [...statements].filter(isPlanned)) {
      const plan = await explain(client, text);
      const nodes = plan ? nodesOf(plan) : [];
      const isSorted = nodes.some((node) => node["Node Type"] === "Limit" && nodesOf(node).some(isSort));
      if (isSorted || nodes.some(isScan)) {
        found.push(`${text}\n${JSON.stringify(plan, null, 1)}`);
      }
    }
    return found;
  } finally {
    await client.end();
  }
}

/** undefined for a statement about other tables than those of the ledger. */
async function explain(client: pg.Client, text: string): Promise<PlanNode | undefined> {
  const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)));
  const values = count > 0 ? `(${Array.from({ length: count }, () => "NULL").join(", ")})` : "";
  try {
    await client.query(`PREPARE observed AS ${text}`);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === UNDEFINED_TABLE) return undefined;
    throw error;
  }
  const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE observed${values}`);
  await client.query("DEALLOCATE observed");
  return (rows[0] as { "QUERY PLAN": [{ Plan: PlanNode }] })["QUERY PLAN"][0].Plan;
}

const UNDEFINED_TABLE = "42P01";

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function isSort(node: PlanNode): boolean {
  return node["Node Type"] === "Sort";
}

const isPlanned = (text: string): boolean => STATEMENT.test(text);

function isLarge(columns: readonly { readonly name: string }[]): boolean {
  return columns.some(({ name }) => name === "item_no" || name === "item_id");
}

/** SQLite names a table as the statement calls it. */
function tableOf(name: string, text: string): string {
  return new RegExp(`\\b(?:FROM|JOIN|INTO|UPDATE)\\s+(\\w+)\\s+(?:AS\\s+)?${name}\\b`, "i").exec(text)?.[1] ?? name;
}
