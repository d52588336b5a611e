import { emptyProjectedField } from "./odata-error.ts";
import { type Addressing, type EntityType, type Json, type Projection, projectionOf } from "./projection.ts";

/** How much the answer says about itself. "atom" is what a client gets that forgets to ask for JSON. */
export type Dialect = "nometadata" | "minimalmetadata" | "verbose" | "atom";

export function chooseDialect(accept: string): Dialect {
  const json = accept.split(",").find((each) => /^\s*application\/json\b/i.test(each));
  if (json === undefined) return "atom";
  const request = /odata\s*=\s*"?(\w+)/i.exec(json)?.[1]?.toLowerCase();
  return request === "nometadata" || request === "verbose" ? request : "minimalmetadata";
}

export function contentTypeOf(dialect: Dialect): string {
  return dialect === "atom"
    ? "application/atom+xml;type=feed;charset=utf-8"
    : `application/json;odata=${dialect};streaming=true;charset=utf-8`;
}

type JsonObject = { [name: string]: Json };

function renderEntity(
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

const DATA = "http://schemas.microsoft.com/ado/2007/08/dataservices";
const METADATA = `${DATA}/metadata`;
const NAMESPACES = `xmlns="http://www.w3.org/2005/Atom" xmlns:d="${DATA}" xmlns:m="${METADATA}"`;
const PROLOGUE = '<?xml version="1.0" encoding="utf-8"?>';

export function atomEntry(value: unknown, projection: Projection, at: Addressing): string {
  return PROLOGUE + entry(value, projection, at, ` ${NAMESPACES}`);
}

export function atomFeed(
  rows: readonly unknown[],
  projection: Projection,
  at: Addressing,
  nextLink: string | undefined,
): string {
  const entries = rows.map((row) => entry(row, projection, at, "")).join("");
  const next = nextLink === undefined ? "" : `<link rel="next" href="${escapeXml(nextLink)}" />`;
  return `${PROLOGUE}<feed ${NAMESPACES}>${entries}${next}</feed>`;
}

export function atomScalar(name: string, value: Json): string {
  return `${PROLOGUE}<d:${name} xmlns:d="${DATA}" xmlns:m="${METADATA}"${attributes(value)}>${content(value)}</d:${name}>`;
}

export function atomError(error: { code: string; message: string }): string {
  return `${PROLOGUE}<m:error xmlns:m="${METADATA}"><m:code>${escapeXml(error.code)}</m:code><m:message xml:lang="en-US">${escapeXml(error.message)}</m:message></m:error>`;
}

function entry(value: unknown, projection: Projection, at: Addressing, namespaces: string): string {
  const address = projection.type.address(value);
  const etag = projection.type.etag?.(value);
  const fields = projection.fields.map(({ name, read }) => property(name, read(value, at) ?? null)).join("");
  const links = projection.expanded.map((expanded) => {
    const target = expanded.link.get(value);
    const inline = (each: unknown): string => entry(each, projectionOf(expanded, expanded.link.type(each)), at, "");
    const inner = Array.isArray(target)
      ? `<feed>${target.map(inline).join("")}</feed>`
      : target === null
        ? ""
        : inline(target);
    const kind = Array.isArray(target) ? "feed" : "entry";
    return `<link rel="${DATA}/related/${expanded.name}" type="application/atom+xml;type=${kind}" title="${expanded.name}" href="${escapeXml(address)}/${expanded.name}"><m:inline>${inner}</m:inline></link>`;
  });
  return [
    `<entry${namespaces}${etag === undefined ? "" : ` m:etag="${escapeXml(etag)}"`}>`,
    `<id>${escapeXml(`${at.webUrl}/_api/${address}`)}</id>`,
    `<category term="${escapeXml(projection.type.typeName)}" scheme="${DATA}/scheme" />`,
    `<link rel="edit" href="${escapeXml(address)}" />`,
    ...links,
    `<content type="application/xml"><m:properties>${fields}</m:properties></content></entry>`,
  ].join("");
}

function property(name: string, value: Json): string {
  return `<d:${name}${attributes(value)}>${content(value)}</d:${name}>`;
}

function attributes(value: Json): string {
  if (value === null) return ' m:null="true"';
  if (typeof value === "number") return Number.isInteger(value) ? ' m:type="Edm.Int32"' : ' m:type="Edm.Double"';
  return typeof value === "boolean" ? ' m:type="Edm.Boolean"' : "";
}

function content(value: Json): string {
  if (value === null) return "";
  if (typeof value !== "object") return escapeXml(String(value));
  const isList = Array.isArray(value);
  return Object.entries(value)
    .map(([name, each]: [string, Json]) => property(isList ? "element" : name, each))
    .join("");
}

export function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
