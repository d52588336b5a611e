import { readFileSync } from "node:fs";
import { escapeXml } from "../sharepoint/odata/response.ts";
import type { MakeSection, SiteDocument } from "../site/site-section.ts";
import { parseBlocks } from "./text-blocks.ts";
import { blocksHtml } from "./write-page.ts";

/** By path: a file in `site-texts/`, and a picture for one of them. */
const PAGES: Readonly<Record<string, { readonly text: string; readonly picture?: string }>> = {
  "/": { text: "home" },
  "/guides/keys": { text: "keys" },
  "/guides/winter": {
    text: "winter",
    picture:
      '<figure><img src="/images/photo-1.jpg" alt="A Dray on studded tyres in the snow"><figcaption>A Dray in January</figcaption></figure>',
  },
  "/guides/loading": { text: "loading" },
  "/trial": { text: "trial" },
};

/** The help centre of the seeded company: what its customers read, and an address that moved. */
export const companySite: MakeSection = ({ isLinked }) => ({
  // The front page is its own: the first segment of "/" is empty.
  name: "",
  alsoAt: ["guides", "trial", "winter"],
  entrances: [],
  pages: () =>
    Object.keys(PAGES).map((path) => ({ path, word: titleOf(path), depth: path === "/" ? 0 : 1, resends: "never" })),
  answer({ path, note }): SiteDocument | { kind: "redirect"; status: 301; location: string } | undefined {
    if (path === "/winter") return { kind: "redirect", status: 301, location: "/guides/winter" };
    const page = PAGES[path];
    if (!page) return undefined;
    const links = ["/", "/guides/keys", "/winter", "/guides/loading", "/trial"].filter(isLinked);
    const body = (): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeXml(titleOf(path))}</title></head>
<body><nav>${links.map((link) => `<a href="${link}">${link}</a>`).join(" ")}</nav>
<main>${blocksHtml(parseBlocks(textOf(path)))}${page.picture ?? ""}${note && `<p>${escapeXml(note)}</p>`}</main>
<footer>Tidewheel Cargo Bikes GmbH, Am Deich 41, Bremen</footer></body></html>
`;
    return { kind: "document", contentType: "text/html; charset=utf-8", validators: "both", body };
  },
});

function textOf(path: string): string {
  const file = new URL(`site-texts/${PAGES[path]?.text}.md`, import.meta.url);
  return readFileSync(file, "utf8").replaceAll("\r\n", "\n");
}

function titleOf(path: string): string {
  return /^# (.+)$/m.exec(textOf(path))?.[1] ?? "";
}
