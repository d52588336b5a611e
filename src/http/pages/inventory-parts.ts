import { html } from "hono/html";
import { mayAct, type Role } from "../../contracts/access.ts";
import { sayBytes } from "../../lib/say-bytes.ts";
import { jsonTable } from "./json-table.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { shownName } from "./shown-name.ts";
import { shownTime } from "./shown-time.ts";

/** Beside the one of all pages. */
export const INVENTORY_MODULES = ["inventory.js"];

export type Resource = "files" | "vector_stores" | "vector_stores/files" | "assistants" | "responses";

/** The address of one object as a page. */
export function detailAddress(resource: Resource, ids: Readonly<Record<string, string>>): string {
  return `/v2/inventory/${resource}/get?${new URLSearchParams({ ...ids, format: "html" })}`;
}

export function listAddress(resource: Resource): string {
  return `/v2/inventory/${resource}?format=${resource === "responses" ? "html" : "ui"}`;
}

export function may(frame: Frame, role: Role): boolean {
  return frame.principal !== undefined && mayAct(frame.principal, role);
}

/** Unix seconds, as the wire has times; null and 0 are none. */
export function timeOf(seconds: number | null | undefined): Html {
  if (!seconds) return html`<span class="none">–</span>`;
  return html`<span class="unbroken">${shownTime(new Date(seconds * 1000).toISOString())}</span>`;
}

export function sizeOf(bytes: number | null | undefined): Html {
  return html`<span class="unbroken">${sayBytes(bytes ?? 0)}</span>`;
}

/** A name with its id below: names are not unique, and may be missing. */
export function named(name: string | null | undefined, id: string, address: string): Html {
  return html`<a href="${address}"><bdi>${shownName(name || "(no name)")}</bdi></a><br><code class="object-id">${id}</code>`;
}

export function troubleNotice(error: string): Html | "" {
  return error === "" ? "" : html`<p class="notice warn" role="status">${error}</p>`;
}

export interface DetailPage {
  /** `Vector store` */
  readonly kind: string;
  readonly name: string;
  readonly id: string;
  readonly facts: readonly (readonly [string, Html | string | number])[];
  readonly actions?: Html | "";
  readonly content?: Html | "";
  /** All that the backend says. */
  readonly object: unknown;
  readonly back: readonly [string, string];
  readonly frame: Frame;
}

export function detailPage(detail: DetailPage): Html {
  const { kind, name, id, facts, actions, content, object, back, frame } = detail;
  return layout({
    frame,
    title: `${name || id} · lockstep`,
    modules: INVENTORY_MODULES,
    body: html`<header class="page-head"><p class="lede"><a href="${back[1]}">${back[0]}</a></p>
<h1><bdi>${shownName(name || "(no name)")}</bdi></h1><div class="actions">${actions ?? ""}</div>
<p class="lede">${kind} <code class="object-id">${id}</code></p></header>
<dl class="figures panel">${facts.map(([title, fact]) => html`<div><dt>${title}</dt><dd>${fact}</dd></div>`)}</dl>
${content ?? ""}
<section aria-labelledby="all-fields"><h2 id="all-fields">All fields</h2>
<div class="panel scroll-x" tabindex="0" role="region" aria-label="All fields">${jsonTable(object)}</div></section>`,
  });
}
