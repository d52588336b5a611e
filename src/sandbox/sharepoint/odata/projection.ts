import type { Literal } from "./filter.ts";
import { ODataError, tooManyLookups, unknownField } from "./odata-error.ts";

/** `$select` and `$expand` worked out once per request and applied to every row. */
export interface Projection {
  readonly type: EntityType;
  readonly fields: readonly { readonly name: string; read(value: unknown, at: Addressing): Json | undefined }[];
  readonly expanded: readonly ExpandedLink[];
  /** Links that are there but were not asked for: the verbose dialect names them. */
  readonly deferred: readonly string[];
}

interface ExpandedLink {
  readonly name: string;
  readonly link: Link;
  readonly select: readonly string[];
  readonly expand: readonly string[];
  /** Projections by the type of the target, which may depend on the value. */
  readonly projections: Map<EntityType, Projection>;
}

export function compileProjection(type: EntityType, select: readonly string[], expand: readonly string[]): Projection {
  const expandedNames = new Set(expand.map((path) => head(path)));
  for (const name of expandedNames) {
    if (!type.links[name]) throw unknownField(name);
    if (type.links[name].needsFields && below(select, name).length === 0) throw expandMissing(name, name);
  }
  refuseManyLookups(type, expandedNames);
  const names = selectedNames(type, select, expandedNames);
  const expanded = [...expandedNames]
    .filter((name) => select.length === 0 || select.some((path) => head(path) === name))
    .map((name) => toExpandedLink(type, name, select, expand));
  return {
    type,
    fields: names.map((name) => ({ name, read: type.properties[name] ?? (() => null) })),
    expanded,
    deferred: Object.keys(type.links).filter((name) => !expanded.some((each) => each.name === name)),
  };
}

function selectedNames(type: EntityType, select: readonly string[], expanded: ReadonlySet<string>): string[] {
  if (select.length === 0) return [...type.defaults];
  const names = new Set<string>();
  for (const path of select) {
    const name = head(path);
    if (path === "*") for (const each of type.defaults) names.add(each);
    else if (path !== name && type.links[name] && !expanded.has(name)) throw expandMissing(path, name);
    else if (path === name && type.links[name]?.needsFields) throw expandMissing(name, name);
    else if (path === name && type.properties[name]) {
      names.add(name);
      const partner = type.together?.[name];
      if (partner !== undefined) names.add(partner);
    } else if (!type.links[name]) throw unknownField(path);
  }
  return [...names];
}

const MAX_LOOKUPS = 12;

function refuseManyLookups(type: EntityType, expanded: ReadonlySet<string>): void {
  const lookups = [...expanded].filter((name) => type.links[name]?.needsFields);
  if (lookups.length > MAX_LOOKUPS) throw tooManyLookups();
}

function toExpandedLink(
  type: EntityType,
  name: string,
  select: readonly string[],
  expand: readonly string[],
): ExpandedLink {
  const link = type.links[name];
  if (!link) throw unknownField(name);
  return { name, link, select: below(select, name), expand: below(expand, name), projections: new Map() };
}

/** The projection for the target of a link, worked out when a row first shows its type. */
export function projectionOf(expanded: ExpandedLink, target: EntityType): Projection {
  const known = expanded.projections.get(target);
  if (known) return known;
  const projection = compileProjection(target, expanded.select, expanded.expand);
  expanded.projections.set(target, projection);
  return projection;
}

function head(path: string): string {
  const cut = path.indexOf("/");
  return cut < 0 ? path : path.slice(0, cut);
}

/** The rest of every path that leads into the link; a bare `File` selects all of it. */
function below(paths: readonly string[], name: string): string[] {
  return paths.filter((path) => path.startsWith(`${name}/`)).map((path) => path.slice(name.length + 1));
}

function expandMissing(path: string, name: string): ODataError {
  return new ODataError(
    400,
    "-1, Microsoft.SharePoint.SPException",
    `The query to field '${path}' is not valid. The $select query string must specify the target fields and the $expand query string must contains ${name}.`,
  );
}

/** The query of a request, both as sent (a next link repeats it) and decoded. */
export interface QueryOptions {
  /** In the order sent, still encoded. */
  readonly raw: readonly { readonly key: string; readonly value: string }[];
  /** `$select` and the like; the name in lower case, the value decoded. */
  readonly system: ReadonlyMap<string, string>;
  /** `@p` and the literal it stands for, decoded. */
  readonly aliases: ReadonlyMap<string, string>;
}

export function parseQueryOptions(rawQuery: string): QueryOptions {
  const raw: { key: string; value: string }[] = [];
  const system = new Map<string, string>();
  const aliases = new Map<string, string>();
  for (const part of rawQuery.split("&").filter(Boolean)) {
    const cut = part.includes("=") ? part.indexOf("=") : part.length;
    const entry = { key: part.slice(0, cut), value: part.slice(cut + 1) };
    const key = decodeQueryText(entry.key);
    raw.push(entry);
    if (key.startsWith("$")) system.set(key.toLowerCase(), decodeQueryText(entry.value));
    else if (key.startsWith("@")) aliases.set(key.toLowerCase(), decodeQueryText(entry.value));
  }
  return { raw, system, aliases };
}

/** In a query, unlike in a path, a bare plus is a space. Throws URIError on a broken escape. */
function decodeQueryText(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

/** `Id, File/Length` -> `["Id", "File/Length"]` */
export function listOption(query: QueryOptions, name: "$select" | "$expand"): string[] {
  return (query.system.get(name) ?? "")
    .split(",")
    .map((each) => each.trim())
    .filter(Boolean);
}

/** Escapes as the service itself does in the links it hands out: `%3d`, not `%3D`. */
export function encodeInLowerHex(text: string): string {
  return encodeURIComponent(text).replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
}

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
