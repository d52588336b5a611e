import type { Addressing, EntityType, Json, Link } from "./entity-type.ts";
import { ODataError, tooManyLookups, unknownField } from "./odata-error.ts";

/** `$select` and `$expand` worked out once per request and applied to every row. */
export interface Projection {
  readonly type: EntityType;
  readonly fields: readonly { readonly name: string; read(value: unknown, at: Addressing): Json | undefined }[];
  readonly expanded: readonly ExpandedLink[];
  /** Links that are there but were not asked for: the verbose dialect names them. */
  readonly deferred: readonly string[];
}

export interface ExpandedLink {
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
