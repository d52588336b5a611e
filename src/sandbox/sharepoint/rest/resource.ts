import type { SandboxSettings } from "../../sandbox-state.ts";
import type { Segment } from "../odata/path-segments.ts";
import type { Addressing, EntityType, Json } from "../odata/projection.ts";
import type { Site, Tenant } from "../tenant/tenant.ts";
import type { FileItem } from "../tenant/tenant-item.ts";

/** The web a request was sent to, and the address it used. */
export interface RequestScope extends Addressing {
  readonly tenant: Tenant;
  readonly site: Site;
  readonly settings: SandboxSettings;
}

/** What a path leads to. */
export type Resource =
  | { readonly kind: "entity"; readonly type: EntityType; readonly value: unknown }
  | {
      readonly kind: "collection";
      readonly type: EntityType;
      readonly rows: readonly unknown[];
      /** List items come in pages by id; other collections come whole and refuse when too long. */
      readonly paging: Paging | undefined;
    }
  | { readonly kind: "scalar"; readonly name: string; readonly value: Json }
  | { readonly kind: "content"; readonly file: FileItem }
  /** What does not speak OData. */
  | { readonly kind: "json"; readonly body: Json };

export interface Paging {
  /** The position of the first row with a greater id. */
  positionAfter(id: number): number;
  idOf(row: unknown): number;
  /** A query that has to look at more rows than this without an index is refused. */
  readonly threshold: number;
}

export function entity(type: EntityType, value: unknown): Resource {
  return { kind: "entity", type, value };
}

export type Collection = Resource & { readonly kind: "collection" };

export function collection(type: EntityType, rows: readonly unknown[], paging?: Paging): Collection {
  return { kind: "collection", type, rows, paging };
}

/** The argument of that name, or the first one without a name. */
export function argumentOf(segment: Segment, name = ""): string | number | boolean | null | undefined {
  return segment.args?.find((each) => each.name === name)?.value;
}
