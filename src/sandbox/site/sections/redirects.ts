import { htmlDocument, listed } from "../render-page.ts";
import type { MakeSection, SiteRedirect } from "../site-section.ts";

/**
 * Addresses that lead elsewhere. The pages `to-…` are linked from nowhere: only redirects lead there. Loops, a redirect
 * without end, one to another site and one to nowhere lead to nothing.
 */
export const redirects: MakeSection = ({ origin, otherOrigin }) => {
  const hops: Readonly<Record<string, readonly [status: SiteRedirect["status"], location: string]>> = {
    "from-301": [301, `${origin}/redirects/to-1`],
    "from-302": [302, "/redirects/to-2?utm_source=old&utm_medium=link"],
    "from-303": [303, "to-3#part"],
    "from-307": [307, `${origin.replace("http", "HTTP")}/redirects/./to-4`],
    "from-308": [308, "/redirects/gone-by/../to-5/"],
    "chain-1": [301, "chain-2"],
    "chain-2": [302, "/redirects/chain-3"],
    "chain-3": [307, `${origin}/redirects/chain-4?gclid=abc`],
    "chain-4": [308, "to-6"],
    "loop-a": [301, "loop-b"],
    "loop-b": [302, "loop-a"],
    itself: [301, "itself"],
    elsewhere: [301, `${otherOrigin}/redirects/to-1`],
    nowhere: [302, "http://"],
    "into-robots": [301, "/private/ledger"],
  };
  const targets = [1, 2, 3, 4, 5, 6].map((i) => listed(`/redirects/to-${i}`, `heron${i}`));
  return {
    name: "redirects",
    entrances: [...Object.keys(hops), "endless-1"].map((name) => `/redirects/${name}`),
    pages: () => targets,
    answer(asked) {
      const name = asked.path.slice("/redirects/".length).replace(/\/$/, "");
      const hop = hops[name];
      if (hop) return { kind: "redirect", status: hop[0], location: hop[1] };
      const endless = /^endless-(\d+)$/.exec(name)?.[1];
      if (endless) return { kind: "redirect", status: 302, location: `endless-${Number(endless) + 1}` };
      const target = targets.find(({ path }) => path === `/redirects/${name}`);
      return target && htmlDocument({ word: target.word }, asked);
    },
  };
};
