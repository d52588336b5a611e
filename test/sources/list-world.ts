import assert from "node:assert/strict";
import type { SourceId } from "../../src/contracts/ids.ts";
import type { Sighting, Source } from "../../src/contracts/source.ts";
import { readTable } from "../../src/sources/sharepoint/lists/list-export.ts";
import { openSharePointList } from "../../src/sources/sharepoint/lists/open-sharepoint-list.ts";
import type { ListSourceConfig } from "../../src/sources/sharepoint/sharepoint-source-codec.ts";
import { ofKind } from "../kinds.ts";
import { type SandboxWorld, useSandbox } from "./sandbox-world.ts";
import { type Listed, listAll } from "./scripted-tenant.ts";

export const TASKS = "/sites/demo/Lists/Tasks";

export interface ListWorld {
  readonly world: SandboxWorld;
  addTasks(columns?: readonly Record<string, unknown>[]): void;
  addTask(values: Record<string, unknown>, more?: Record<string, unknown>): void;
  openTasks(options?: { name?: string; filter?: string; pageSize?: number }): Source;
}

/** A sandbox and a list in it, for the tests of one describe block. */
export function useLists(): ListWorld {
  const world = useSandbox();
  return {
    world,
    addTasks: (columns = []) => world.act("add-list", { path: TASKS, title: "Tasks", columns }),
    addTask: (values, more = {}) => world.act("add-item", { list: TASKS, values, ...more }),
    openTasks(options = {}) {
      const config = listConfig(world.sandbox.siteUrl, options.name, options.filter);
      return openSharePointList(config, world.connect(), options.pageSize ? { pageSize: options.pageSize } : {});
    },
  };
}

export function listConfig(siteUrl: string, listName = "Tasks", filter = ""): ListSourceConfig {
  return {
    sourceId: "tasks" as SourceId,
    ...ofKind("list_sources"),
    siteUrl,
    listName,
    filter,
    limits: { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false },
  };
}

/** The rows of a list as its export has them, by column title. */
export async function exportRows(
  source: Source,
  earlier: { readonly before?: string; readonly keep?: readonly number[] } = {},
): Promise<Record<string, string>[]> {
  assert.ok(source.table);
  const rows: string[][] = [];
  const bytes = source.table.export(earlier.before, new Set(earlier.keep));
  for await (const some of readTable(bytes)) rows.push(...some);
  const [titles = [], ...values] = rows;
  return values.map((cells) => Object.fromEntries(titles.map((title, at) => [title, cells[at] ?? "missing"])));
}

export async function listRows(source: Source): Promise<Listed & { readonly rows: Record<string, string>[] }> {
  const listed = await listAll(source);
  return { ...listed, rows: await exportRows(source) };
}

export function rowsOnly(sightings: readonly Sighting[]): Sighting[] {
  return sightings.filter((sighting) => sighting.form === "row");
}
