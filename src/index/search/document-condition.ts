import type { SearchQuery, SearchScope } from "../../contracts/search-index.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql, Values } from "../../lib/sql/sql.ts";
import { visibleAt } from "../storage/generations.ts";
import { filterCondition } from "./attribute-filter.ts";
import { Bindings } from "./bindings.ts";

/** A condition on rows `d` of `documents`; its placeholders begin at $1. */
export interface DocumentCondition {
  readonly sql: string;
  readonly values: Values;
}

/** Which documents a search may return: those that generation `at` shows, within filter and scope. */
export function documentCondition(
  sql: Sql,
  at: number,
  { filter, scope = {} }: Pick<SearchQuery, "filter" | "scope">,
): DocumentCondition {
  const bindings = new Bindings();
  const parts = ["d.body_id IS NOT NULL", visibleAt(bindings.add(at)), ...scopeParts(sql, scope, bindings)];
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
