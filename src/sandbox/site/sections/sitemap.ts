import { gzipSync } from "node:zlib";
import { htmlDocument, listed, numbered } from "../render-page.ts";
import type { MakeSection, SiteDocument } from "../site-section.ts";

const PACKED = numbered(4, (i) => `/attic/packed-${i}`);
const PLAIN = numbered(2, (i) => `/attic/plain-${i}`);

/** Pages that nothing links to: an index of sitemaps, which robots.txt names, has them. One of its files is packed. */
export const sitemap: MakeSection = ({ origin }) => {
  const files: Readonly<Record<string, () => string | Uint8Array>> = {
    "/sitemap.xml": () =>
      `<?xml version="1.0" encoding="UTF-8"?><sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<sitemap><loc>${origin}/sitemaps/packed.xml.gz</loc></sitemap><sitemap><loc>${origin}/sitemaps/plain.xml</loc></sitemap></sitemapindex>`,
    "/sitemaps/packed.xml.gz": () => gzipSync(urlset(origin, PACKED)),
    "/sitemaps/plain.xml": () => urlset(origin, PLAIN),
  };
  return {
    name: "attic",
    alsoAt: ["sitemap.xml", "sitemaps"],
    entrances: [],
    robots: [`Sitemap: ${origin}/sitemap.xml`],
    pages: () => [...PACKED, ...PLAIN].map((path) => listed(path, wordOf(path))),
    answer(asked): SiteDocument | undefined {
      const body = files[asked.path];
      const contentType = asked.path.endsWith(".gz") ? "application/gzip" : "application/xml";
      if (body) return { kind: "document", contentType, validators: "both", body };
      return [...PACKED, ...PLAIN].includes(asked.path) ? htmlDocument({ word: wordOf(asked.path) }, asked) : undefined;
    },
  };
};

function urlset(origin: string, paths: readonly string[]): string {
  const urls = paths.map((path) => `<url><loc>${origin}${path}</loc><lastmod>2026-01-05</lastmod></url>`);
  return `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.join("")}</urlset>`;
}

function wordOf(path: string): string {
  return `moth${path.slice("/attic/".length).replace("-", "")}`;
}
