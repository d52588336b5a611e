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
  readonly properties: Readonly<Record<string, (value: unknown, at: Addressing) => Json>>;
  /** What comes without `$select`. */
  readonly defaults: readonly string[];
  /** Selecting the one brings the other. */
  readonly together?: Readonly<Record<string, string>>;
  readonly links: Readonly<Record<string, Link>>;
  /** Only these may be filtered on; absent: the collection cannot be filtered. */
  readonly filterable?: Readonly<Record<string, (value: unknown) => Literal>>;
  /** Below `_api/`. */
  address(value: unknown): string;
  etag?(value: unknown): string;
}

export interface Link {
  readonly type: (value: unknown) => EntityType;
  readonly many: boolean;
  /** One value or null; an array when `many`. */
  get(value: unknown): unknown;
}

type Typed<T, Shape> = {
  [Key in keyof Shape]: Shape[Key];
} & {
  readonly properties: Readonly<Record<string, (value: T, at: Addressing) => Json>>;
  readonly links: Readonly<Record<string, TypedLink<T>>>;
  readonly filterable?: Readonly<Record<string, (value: T) => Literal>>;
  address(value: T): string;
  etag?(value: T): string;
};

interface TypedLink<T> {
  readonly type: (value: T) => EntityType;
  readonly many: boolean;
  get(value: T): unknown;
}

/** Checks a description against the type of its values, then forgets it: a collection is walked without knowing T. */
export function entityType<T>(
  description: Typed<T, Pick<EntityType, "typeName" | "defaults" | "together">>,
): EntityType {
  return description as unknown as EntityType;
}
