import { html } from "hono/html";
import type { Html } from "./layout.ts";

const TURNING: { readonly [character: string]: string } = {
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
};

/** A name others gave. Characters that turn the text around them are spelled out: behind one, "fdp.exe" reads "exe.pdf". */
export function shownName(name: string): string {
  return name.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, (character) => `⟨${TURNING[character]}⟩`);
}

/** An instant in UTC; the page's module turns it into the reader's own time. */
export function shownTime(instant: string): Html {
  const ms = Date.parse(instant);
  if (Number.isNaN(ms)) return html`${instant}`;
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** Of what others wrote to a disk or sent: whatever is no text or number is nothing. */
export function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** Only what a browser opens as a web page: `javascript:` and its kin stay text. */
export function webAddress(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed?.protocol === "https:" || parsed?.protocol === "http:" ? parsed.href : undefined;
}
