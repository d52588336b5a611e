import type { Addressing, EntityType, Json } from "./entity-type.ts";
import { emptyProjectedField } from "./odata-error.ts";
import { type Projection, projectionOf } from "./projection.ts";

/** How much the answer says about itself. "atom" is what a client gets that forgets to ask for JSON. */
export type Dialect = "nometadata" | "minimalmetadata" | "verbose" | "atom";

export function chooseDialect(accept: string): Dialect {
  const json = accept.split(",").find((each) => /^\s*application\/json\b/i.test(each));
  if (json === undefined) return "atom";
  const asked = /odata\s*=\s*"?(\w+)/i.exec(json)?.[1]?.toLowerCase();
  return asked === "nometadata" || asked === "verbose" ? asked : "minimalmetadata";
}

export function contentTypeOf(dialect: Dialect): string {
  return dialect === "atom"
    ? "application/atom+xml;type=feed;charset=utf-8"
    : `application/json;odata=${dialect};streaming=true;charset=utf-8`;
}

type JsonObject = { [name: string]: Json };

export function renderEntity(
  value: unknown,
  projection: Projection,
  at: Addressing,
  dialect: Exclude<Dialect, "atom">,
): JsonObject {
  const out: JsonObject = dialect === "nometadata" ? {} : metadataOf(value, projection.type, at, dialect);
  if (dialect === "verbose") {
    for (const name of projection.deferred) {
      out[name] = { __deferred: { uri: `${at.webUrl}/_api/${projection.type.address(value)}/${name}` } };
    }
  }
  for (const expanded of projection.expanded) {
    const { name, link } = expanded;
    const target = link.get(value);
    const render = (each: unknown): Json => {
      const rendered = renderEntity(each, projectionOf(expanded, link.type(each)), at, dialect);
      if (link.refusesEmpty) refuseEmptyField(name, rendered);
      return rendered;
    };
    if (Array.isArray(target)) out[name] = dialect === "verbose" ? { results: target.map(render) } : target.map(render);
    // A folder's row has no File: the key is absent, not null.
    else if (target !== null) out[name] = render(target);
  }
  for (const { name, read } of projection.fields) {
    const field = read(value, at);
    if (field !== undefined) out[name] = dialect === "verbose" && Array.isArray(field) ? { results: field } : field;
  }
  return out;
}

function refuseEmptyField(link: string, rendered: JsonObject): void {
  const empty = Object.keys(rendered).find((name) => rendered[name] === null);
  if (empty !== undefined) throw emptyProjectedField(`${link}_x005f_${empty}`);
}

function metadataOf(
  value: unknown,
  type: EntityType,
  at: Addressing,
  dialect: "minimalmetadata" | "verbose",
): JsonObject {
  const address = type.address(value);
  const uri = `${at.webUrl}/_api/${address}`;
  const etag = type.etag?.(value);
  if (dialect === "verbose") {
    return { __metadata: { id: uri, uri, ...(etag === undefined ? {} : { etag }), type: type.typeName } };
  }
  return {
    "odata.type": type.typeName,
    "odata.id": uri,
    ...(etag === undefined ? {} : { "odata.etag": etag }),
    "odata.editLink": address,
  };
}

export function renderSingle(
  value: unknown,
  projection: Projection,
  at: Addressing,
  dialect: Exclude<Dialect, "atom">,
): Json {
  const entity = renderEntity(value, projection, at, dialect);
  if (dialect === "verbose") return { d: entity };
  if (dialect === "nometadata") return entity;
  return { "odata.metadata": `${at.webUrl}/_api/$metadata#${projection.type.typeName}/@Element`, ...entity };
}

export function renderCollection(
  rows: readonly unknown[],
  projection: Projection,
  at: Addressing,
  options: { dialect: Exclude<Dialect, "atom">; nextLink: string | undefined },
): Json {
  const { dialect, nextLink } = options;
  const rendered = rows.map((row) => renderEntity(row, projection, at, dialect));
  if (dialect === "verbose") {
    return { d: { results: rendered, ...(nextLink === undefined ? {} : { __next: nextLink }) } };
  }
  return {
    ...(dialect === "nometadata"
      ? {}
      : { "odata.metadata": `${at.webUrl}/_api/$metadata#${projection.type.typeName}` }),
    value: rendered,
    ...(nextLink === undefined ? {} : { "odata.nextLink": nextLink }),
  };
}

export function renderScalar(name: string, value: Json, dialect: Exclude<Dialect, "atom">): Json {
  return dialect === "verbose" ? { d: { [name]: value } } : { value };
}

export function renderError(error: { code: string; message: string }, dialect: Exclude<Dialect, "atom">): Json {
  const body = { code: error.code, message: { lang: "en-US", value: error.message } };
  return dialect === "verbose" ? { error: body } : { "odata.error": body };
}
