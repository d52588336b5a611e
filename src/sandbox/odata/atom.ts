import type { Addressing, Json } from "./entity-type.ts";
import { type Projection, projectionOf } from "./projection.ts";

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
