import { html } from "hono/html";
import { shownTime } from "./display.ts";
import type { Html } from "./layout.ts";

/** Renders JSON as nested tables: an object has rows of name and value, a list of objects has their names as columns. Names are in words, times are times. */
export function jsonTable(value: unknown, name = ""): Html {
  if (Array.isArray(value)) return listTable(value);
  if (typeof value === "object" && value !== null) return objectTable(Object.entries(value));
  if (value === null || value === undefined || value === "") return html`<span class="none">–</span>`;
  if (/_at$/.test(name) && typeof value === "number") return shownTime(new Date(value * 1000).toISOString());
  if (/_utc$/.test(name) && typeof value === "string") return shownTime(value);
  return html`<bdi>${String(value)}</bdi>`;
}

/** Returns "last active" for `last_active_at`: what follows is a time anyway. */
export function fieldWords(name: string): string {
  return name.replace(/(?<=.)_(at|utc)$/, "").replaceAll("_", " ");
}

function objectTable(rows: readonly (readonly [string, unknown])[]): Html {
  if (rows.length === 0) return html`<span class="none">–</span>`;
  return html`<table class="nested"><tbody>${rows.map(
    ([name, value]) => html`<tr><th scope="row">${fieldWords(name)}</th><td>${jsonTable(value, name)}</td></tr>`,
  )}</tbody></table>`;
}

function listTable(list: readonly unknown[]): Html {
  if (list.length === 0) return html`<span class="none">–</span>`;
  const rows = list.filter(isRow);
  if (rows.length < list.length) return html`<ul>${list.map((value) => html`<li>${jsonTable(value)}</li>`)}</ul>`;
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return html`<table class="nested"><thead><tr>${columns.map(
    (column) => html`<th scope="col">${fieldWords(column)}</th>`,
  )}</tr></thead><tbody>${rows.map(
    (row) => html`<tr>${columns.map((column) => html`<td>${jsonTable(row[column], column)}</td>`)}</tr>`,
  )}</tbody></table>`;
}

function isRow(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
