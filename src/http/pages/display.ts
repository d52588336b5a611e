import { html } from "hono/html";
import type { Html } from "./layout.ts";

const DIRECTION_NAMES: { readonly [character: string]: string } = {
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

/** Returns a name for display. Characters that change the text direction are spelled out: after one, "fdp.exe" would read "exe.pdf". */
export function shownName(name: string): string {
  return name.replaceAll(/[\u202a-\u202e\u2066-\u2069]/g, (character) => `⟨${DIRECTION_NAMES[character]}⟩`);
}

/** Returns "Trips / Costs.md" for a path; only its folders if the title beside it is the name of the file already. */
export function placeBeside(path: string, title: string): string {
  const parts = path.split("/");
  return (parts.at(-1) === title ? parts.slice(0, -1) : parts).join(" / ");
}

/** Longer pieces of an id may break anywhere. */
const LONGEST_PIECE = 20;

/** Renders an id that people made: in a table it breaks where its words end, and makes its column wide enough for two of them. */
export function shownId(id: string): Html {
  const pieces: string[] = [""];
  for (const word of id.split(/(?<=[-_ ])/)) {
    const last = pieces.at(-1) ?? "";
    if (last.length + word.length <= LONGEST_PIECE) pieces[pieces.length - 1] = last + word;
    else pieces.push(word);
  }
  const [first = "", ...others] = pieces.filter(Boolean);
  if (others.length === 0) return html`<bdi>${first}</bdi>`;
  const shown = (piece: string): Html =>
    piece.length > LONGEST_PIECE ? html`${piece}` : html`<span class="unbroken">${piece}</span>`;
  return html`<bdi>${shown(first)}${others.map((piece) => html`<wbr>${shown(piece)}`)}</bdi>`;
}

/** Renders an instant in UTC; the page's script converts it to the reader's time zone. */
export function shownTime(instant: string): Html {
  const ms = Date.parse(instant);
  if (Number.isNaN(ms)) return html`${instant}`;
  const iso = new Date(ms).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** Returns a text or number of unchecked data as text; anything else as "". */
export function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** Returns the address only if it is http or https: `javascript:` and the like stay text. */
export function webAddress(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed?.protocol === "https:" || parsed?.protocol === "http:" ? parsed.href : undefined;
}
