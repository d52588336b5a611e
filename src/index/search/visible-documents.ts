import { BadInputError } from "../../contracts/errors.ts";
import type { AttributeFilter, SearchQuery, SearchScope } from "../../contracts/search-index.ts";
import { MAX_FILTER_DEPTH } from "../../lib/attribute-filter.ts";
import { isListed, listOf, type Sql, type SqlValue, storableText, type Values } from "../../lib/sql/sql.ts";
import { type View, visibleIn } from "../generations.ts";
import type { Selection } from "../store.ts";

/** Documents per body: more cannot be shown. */
const MAX_PER_BODY = 20;

/** Tells which documents a search may return, for the candidates only: the store may have millions. */
export class VisibleDocuments {
  readonly #sql: Sql;
  readonly #condition: DocumentCondition;
  readonly #ofBody = new Map<number, number[]>();

  constructor(sql: Sql, condition: DocumentCondition) {
    this.#sql = sql;
    this.#condition = condition;
  }

  /** Returns the visible documents of each body, by id. */
  async ofBodies(bodyIds: readonly number[]): Promise<ReadonlyMap<number, readonly number[]>> {
    const missing = [...new Set(bodyIds)].filter((id) => !this.#ofBody.has(id));
    if (missing.length > 0) {
      for (const id of missing) this.#ofBody.set(id, []);
      for (const { id, bodyId } of await this.#select("d.body_id", missing)) this.#ofBody.get(bodyId)?.push(id);
    }
    return this.#ofBody;
  }

  /** Returns the visible ones of these documents, with their bodies. */
  async among(documentIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (documentIds.length === 0) return new Map();
    const rows = await this.#select("d.id", documentIds);
    return new Map(rows.map(({ id, bodyId }) => [id, bodyId]));
  }

  /** Returns a selection for indexes that can filter by themselves. */
  select(column: "id" | "body_id"): Selection {
    return { sql: `SELECT d.${column} FROM documents d WHERE ${this.#condition.sql}`, values: this.#condition.values };
  }

  #select(column: string, ids: readonly number[]): Promise<{ id: number; bodyId: number }[]> {
    const { sql, values } = this.#condition;
    const listed = isListed(this.#sql, column, `$${values.length + 1}`, "integer");
    return this.#sql.all(
      `SELECT id, "bodyId" FROM (
         SELECT d.id, d.body_id AS "bodyId", row_number() OVER (PARTITION BY ${column} ORDER BY d.id) AS place
         FROM documents d WHERE ${listed} AND ${sql}) found
       WHERE place <= ${MAX_PER_BODY} ORDER BY id`,
      [...values, listOf(ids)],
    );
  }
}

/** A condition on rows `d` of `documents`; its placeholders begin at $1. */
interface DocumentCondition {
  readonly sql: string;
  readonly values: Values;
}

/** Returns the condition for documents that are shown, within filter and scope. */
export function documentCondition(
  sql: Sql,
  view: View,
  { filter, scope = {} }: Pick<SearchQuery, "filter" | "scope">,
): DocumentCondition {
  const bindings = new Bindings();
  const parts = ["d.body_id IS NOT NULL", visibleIn(view, bindings.add(view.at)), ...scopeParts(sql, scope, bindings)];
  if (filter) parts.push(filterCondition(filter, sql.dialect, bindings));
  return { sql: parts.join(" AND "), values: bindings.values };
}

function scopeParts(sql: Sql, scope: SearchScope, bindings: Bindings): string[] {
  const parts: string[] = [];
  const bytewise = sql.dialect === "postgres" ? ' COLLATE "C"' : "";
  const listed = (column: string, values: readonly string[]): string =>
    isListed(sql, column, bindings.add(listOf(values)), "text");
  if (scope.domainId !== undefined) parts.push(`d.domain_id = ${bindings.add(scope.domainId)}`);
  if (scope.sourceId !== undefined) parts.push(`d.source_id = ${bindings.add(scope.sourceId)}`);
  if (scope.pathPrefix) {
    const prefix = bindings.add(scope.pathPrefix);
    parts.push(`substr(d.path, 1, length(${prefix})) = ${prefix}`);
  }
  if (scope.fileTypes) parts.push(listed("d.file_type", scope.fileTypes));
  if (scope.modifiedFrom) parts.push(`d.modified_at${bytewise} >= ${bindings.add(scope.modifiedFrom)}`);
  // An unknown time is neither before nor after any.
  if (scope.modifiedBefore)
    parts.push(`d.modified_at <> '' AND d.modified_at${bytewise} < ${bindings.add(scope.modifiedBefore)}`);
  if (scope.languages) {
    parts.push(`d.body_id IN (SELECT b.id FROM bodies b WHERE ${listed("b.language", scope.languages)})`);
  }
  return parts;
}

type Scalar = string | number | boolean;
const OPERATORS = { gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
const MAX_PARTS = 200;
const MAX_VALUES = 10_000;

/** SQL comparisons of one attribute in the JSON of a document; false if there is no such attribute. */
interface Comparisons {
  isOneOf(key: string, values: readonly Scalar[], bindings: Bindings): string;
  compares(key: string, operator: string, value: string | number, bindings: Bindings): string;
}

/**
 * Returns the filter as a condition on `d.attributes`. Types matter: `5` is not `"5"`, and only two numbers or two strings can
 * be ordered. A document without the key satisfies `ne` and `nin`, and nothing else.
 */
function filterCondition(filter: AttributeFilter, dialect: Sql["dialect"], bindings: Bindings): string {
  if (countValues(filter) > MAX_VALUES)
    throw new BadInputError(`filter: more than ${MAX_VALUES} values to compare with`);
  return render(filter, dialect === "sqlite" ? SQLITE : POSTGRES, bindings, 0);
}

function countValues(filter: AttributeFilter, depth = 0): number {
  if (depth > MAX_FILTER_DEPTH) throw new BadInputError(`filter: nested deeper than ${MAX_FILTER_DEPTH} levels`);
  if ("filters" in filter) return filter.filters.reduce((sum, part) => sum + countValues(part, depth + 1), 0);
  return Array.isArray(filter.value) ? filter.value.length : 1;
}

function render(filter: AttributeFilter, by: Comparisons, bindings: Bindings, depth: number): string {
  switch (filter.type) {
    case "and":
    case "or": {
      if (filter.filters.length > MAX_PARTS)
        throw new BadInputError(`filter: more than ${MAX_PARTS} parts in one '${filter.type}'`);
      if (filter.filters.length === 0) return filter.type === "and" ? "1 = 1" : "1 = 0";
      const parts = filter.filters.map((part) => render(part, by, bindings, depth + 1));
      return `(${parts.join(filter.type === "and" ? " AND " : " OR ")})`;
    }
    case "eq":
      return by.isOneOf(filter.key, [filter.value], bindings);
    case "ne":
      return `NOT ${by.isOneOf(filter.key, [filter.value], bindings)}`;
    case "in":
      return by.isOneOf(filter.key, filter.value, bindings);
    case "nin":
      return `NOT ${by.isOneOf(filter.key, filter.value, bindings)}`;
    default:
      if (typeof filter.value === "boolean")
        throw new BadInputError(`filter on '${filter.key}': '${filter.type}' needs a number or a string`);
      return by.compares(filter.key, OPERATORS[filter.type], filter.value, bindings);
  }
}

const SQLITE: Comparisons = {
  isOneOf(key, values, bindings) {
    const path = bindings.add(pathOf(key));
    const type = `ifnull(json_type(d.attributes, ${path}), '')`;
    const oneOf = (of: string, list: readonly Scalar[]): string =>
      `${of} IN (SELECT value FROM json_each(${bindings.add(JSON.stringify(list))}))`;
    const strings = values.filter((value) => typeof value === "string");
    const numbers = values.filter((value) => typeof value === "number");
    const booleans = values.filter((value) => typeof value === "boolean").map(String);
    const parts: string[] = [];
    if (strings.length > 0) parts.push(`${type} = 'text' AND ${oneOf(`json_extract(d.attributes, ${path})`, strings)}`);
    if (numbers.length > 0)
      parts.push(`${type} IN ('integer', 'real') AND ${oneOf(`json_extract(d.attributes, ${path})`, numbers)}`);
    if (booleans.length > 0) parts.push(oneOf(type, booleans));
    return parts.length === 0 ? "(1 = 0)" : `(${parts.join(" OR ")})`;
  },
  compares(key, operator, value, bindings) {
    const path = bindings.add(pathOf(key));
    const types = typeof value === "number" ? "'integer', 'real'" : "'text'";
    return `(ifnull(json_type(d.attributes, ${path}), '') IN (${types})
      AND json_extract(d.attributes, ${path}) ${operator} ${bindings.add(value)})`;
  },
};

/**
 * PostgreSQL rejects JSON with escaped NUL or lone surrogates, which would fail the search for one document of thousands. They are
 * replaced by U+FFFD. JSON.stringify escapes lone surrogates only, never pairs.
 */
const UNREADABLE = String.raw`(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})`;
const ATTRIBUTES = String.raw`(CASE WHEN strpos(d.attributes, '\u') > 0
  THEN regexp_replace(d.attributes, '${UNREADABLE}', '\1\\ufffd', 'g') ELSE d.attributes END)::jsonb`;

const POSTGRES: Comparisons = {
  isOneOf(key, values, bindings) {
    const list = `SELECT jsonb_array_elements(${bindings.add(JSON.stringify(values.map(storable)))}::jsonb)`;
    return `coalesce((${ATTRIBUTES} -> ${bindings.add(key)}::text) IN (${list}), false)`;
  },
  // CASE, because PostgreSQL may evaluate an AND in any order, and casting text to a number fails.
  compares(key, operator, value, bindings) {
    const name = `${bindings.add(key)}::text`;
    const place = bindings.add(value);
    const [type, left, right] =
      typeof value === "number"
        ? ["number", `(${ATTRIBUTES} ->> ${name})::float8`, `${place}::float8`]
        : ["string", `(${ATTRIBUTES} ->> ${name}) COLLATE "C"`, `${place}::text`];
    return `(CASE WHEN jsonb_typeof(${ATTRIBUTES} -> ${name}) = '${type}' THEN ${left} ${operator} ${right} ELSE false END)`;
  },
};

function storable(value: Scalar): Scalar {
  return typeof value === "string" ? storableText(value) : value;
}

function pathOf(key: string): string {
  return `$.${JSON.stringify(key)}`;
}

/** Collects the values of a statement while its text is built. */
class Bindings {
  readonly values: SqlValue[] = [];

  /** Adds a value; returns its placeholder. */
  add(value: SqlValue): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}
