import { htmlDocument, listed, numbered } from "../render-page.ts";
import type { MakeSection, SiteDocument } from "../site-section.ts";

const ITEMS = 3;

/** News that only a feed links to, one in RSS and one in Atom; the front page names both. */
export const news: MakeSection = ({ origin }) => {
  const feeds: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
    "/news/feed.xml": {
      type: "application/rss+xml",
      text: `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>${origin}/</link>${numbered(
        ITEMS,
        (i) => `<item><title>News ${i}</title><link>${origin}/news/rss-${i}</link></item>`,
      ).join("")}</channel></rss>`,
    },
    "/news/atom.xml": {
      type: "application/atom+xml",
      text: `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>${numbered(
        ITEMS,
        (i) => `<entry><title>News ${i}</title><link rel="alternate" href="/news/atom-${i}"/></entry>`,
      ).join("")}</feed>`,
    },
  };
  const paths = ["rss", "atom"].flatMap((kind) => numbered(ITEMS, (i) => `/news/${kind}-${i}`));
  return {
    name: "news",
    entrances: [],
    head: Object.entries(feeds)
      .map(([path, { type }]) => `<link rel="alternate" type="${type}" href="${path}">`)
      .join(""),
    pages: () => paths.map((path) => listed(path, wordOf(path))),
    answer(asked): SiteDocument | undefined {
      const feed = feeds[asked.path];
      if (feed) return { kind: "document", contentType: feed.type, validators: "both", body: () => feed.text };
      return paths.includes(asked.path) ? htmlDocument({ word: wordOf(asked.path) }, asked) : undefined;
    },
  };
};

function wordOf(path: string): string {
  return `gull${path.slice("/news/".length).replace("-", "")}`;
}
