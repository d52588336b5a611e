import type { Literal } from "./filter-tokens.ts";

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** What getters may need beyond the value: the address the request came to. */
export interface Addressing {
  /** `http://127.0.0.1:1234` */
  readonly origin: string;
  /** `http://127.0.0.1:1234/sites/demo` */
  readonly webUrl: string;
}

/** One kind of resource: what can be selected, expanded and walked into. Values are opaque to the protocol layer. */
export interface EntityType {
  /** `SP.File` */
  readonly typeName: string;
  /** undefined: this value has no such property, and the answer leaves it out. */
  readonly properties: Readonly<Record<string, (value: unknown, at: Addressing) => Json | undefined>>;
  /** What comes without `$select`. */
  readonly defaults: readonly string[];
  /** Selecting the one brings the other. */
  readonly together?: Readonly<Record<string, string>>;
  readonly links: Readonly<Record<string, Link>>;
  /** Only these may be filtered on; absent: the collection cannot be filtered. */
  readonly filterable?: Readonly<Record<string, (value: unknown) => Literal>>;
  /** What of the filterable has an index: only that passes the list view threshold. */
  readonly indexed?: ReadonlySet<string>;
  /** What an argument in parentheses picks one of a collection by. */
  key?(value: unknown): string | number;
  /** Below `_api/`. */
  address(value: unknown): string;
  etag?(value: unknown): string;
}

export interface Link {
  readonly type: (value: unknown) => EntityType;
  readonly many: boolean;
  /** A lookup or a person: it can be had only by naming its fields in `$select` and itself in `$expand`. */
  readonly needsFields?: boolean;
  /** A lookup of several rows fails as a whole when a field asked for is empty in one of them. */
  readonly refusesEmpty?: boolean;
  /** One value or null; an array when `many`. */
  get(value: unknown): unknown;
}

type Typed<T, Shape> = {
  [Key in keyof Shape]: Shape[Key];
} & {
  readonly properties: Readonly<Record<string, (value: T, at: Addressing) => Json | undefined>>;
  readonly links: Readonly<Record<string, TypedLink<T>>>;
  readonly filterable?: Readonly<Record<string, (value: T) => Literal>>;
  key?(value: T): string | number;
  address(value: T): string;
  etag?(value: T): string;
};

interface TypedLink<T> {
  readonly type: (value: T) => EntityType;
  readonly many: boolean;
  readonly needsFields?: boolean;
  get(value: T): unknown;
}

/** Checks a description against the type of its values, then forgets it: a collection is walked without knowing T. */
export function entityType<T>(
  description: Typed<T, Pick<EntityType, "typeName" | "defaults" | "together" | "indexed">>,
): EntityType {
  return description as unknown as EntityType;
}
