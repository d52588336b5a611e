import { html, raw } from "hono/html";
import type { Html } from "./layout.ts";

/** Strokes on a grid of 24 by 24. Decoration: the word beside it says what it is. */
const STROKES = {
  overview: "M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4",
  domains: "M12 3 3 8l9 5 9-5zM3 12.5l9 5 9-5M3 17l9 5 9-5",
  crawler: "M20 11a8 8 0 0 0-14.5-3.5L4 9M4 4v5h5M4 13a8 8 0 0 0 14.5 3.5L20 15M20 20v-5h-5",
  web: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c3 2.6 3.8 5.8 3.8 9s-.8 6.4-3.8 9c-3-2.6-3.8-5.8-3.8-9S9 5.6 12 3z",
  jobs: "M5 6h14M5 12h14M5 18h8M3 6h.01M3 12h.01M3 18h.01",
  inventory:
    "M4 7c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zM4 7v10c0 1.7 3.6 3 8 3s8-1.3 8-3V7M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
  reports: "M7 3h7l5 5v13H7zM14 3v5h5M10 13h6M10 17h6",
  keys: "M14 10a4 4 0 1 0-3.5 4L12 12.5h2V11h1.5L20 6.5V4h-2.5z",
  audit: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4",
} as const;

export type IconName = keyof typeof STROKES;

export function icon(name: IconName): Html {
  return html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${raw(STROKES[name])}"/></svg>`;
}
