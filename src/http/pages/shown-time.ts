import { html } from "hono/html";
import type { Html } from "./layout.ts";

/** An instant in UTC; the page's module turns it into the reader's own time. */
export function shownTime(instant: string): Html {
  const ms = Date.parse(instant);
  if (Number.isNaN(ms)) return html`${instant}`;
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")} UTC</time>`;
}
