import { htmlDocument, listed } from "../render-page.ts";
import type { MakeSection } from "../site-section.ts";

const PAGES: Readonly<Record<string, Omit<Parameters<typeof htmlDocument>[0], "word">>> = {
  noindex: { head: '<meta name="robots" content="noindex">', links: ["/directives/behind-noindex"] },
  "noindex-header": { links: ["/directives/behind-header"] },
  nofollow: { head: '<meta name="robots" content="nofollow">', links: ["/directives/unseen"] },
  "nofollow-link": { extra: '<p><a rel="nofollow" href="/directives/unseen">Not this way</a></p>' },
  "behind-noindex": {},
  "behind-header": {},
  unseen: {},
};
const TAKEN: readonly [name: string, depth: number][] = [
  ["nofollow", 1],
  ["nofollow-link", 1],
  ["behind-noindex", 2],
  ["behind-header", 2],
];

/** What robots.txt, `<meta name=robots>`, X-Robots-Tag and rel=nofollow ask for. Nothing below /private is for robots. */
export const directives: MakeSection = () => ({
  name: "directives",
  alsoAt: ["private"],
  entrances: [
    ...["noindex", "noindex-header", "nofollow", "nofollow-link"].map((name) => `/directives/${name}`),
    "/private/ledger",
    "/private/public-part",
  ],
  robots: ["Disallow: /private/", "Allow: /private/public-part"],
  pages: () => [
    ...TAKEN.map(([name, depth]) => listed(`/directives/${name}`, wordOf(name), { depth })),
    listed("/private/public-part", wordOf("public-part")),
  ],
  answer(asked) {
    if (asked.path.startsWith("/private/")) return htmlDocument({ word: wordOf(asked.path.slice(9)) }, asked);
    const name = asked.path.slice("/directives/".length);
    const plan = PAGES[name];
    const headers = name === "noindex-header" ? { "X-Robots-Tag": "noindex" } : {};
    return plan && htmlDocument({ ...plan, word: wordOf(name) }, asked, { headers });
  },
});

function wordOf(name: string): string {
  return `badger${name.replaceAll("-", "")}`;
}
