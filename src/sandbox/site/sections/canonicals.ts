import { htmlDocument, listed } from "../render-page.ts";
import type { MakeSection } from "../site-section.ts";

/**
 * Pages that name the address they would rather be known by. `plain` is linked both ways, `print` only by its variants.
 * `foreign` names another site, which is none of its business.
 */
export const canonicals: MakeSection = ({ origin, otherOrigin }) => {
  const heads: Readonly<Record<string, string>> = {
    plain: `${origin}/canonical/plain`,
    print: "/canonical/print",
    foreign: `${otherOrigin}/canonical/foreign`,
  };
  const words: Readonly<Record<string, string>> = { plain: "otter1", print: "otter2", foreign: "otter3" };
  return {
    name: "canonical",
    entrances: [
      "/canonical/plain?view=print",
      "/canonical/plain",
      "/canonical/plain?ref=front",
      "/canonical/print?view=wide",
      "/canonical/print?view=narrow",
      "/canonical/foreign",
    ],
    pages: () => Object.entries(words).map(([name, word]) => listed(`/canonical/${name}`, word)),
    answer(asked) {
      const name = asked.path.slice("/canonical/".length);
      const word = words[name];
      if (word === undefined) return undefined;
      return htmlDocument({ word, head: `<link rel="canonical" href="${heads[name]}">` }, asked);
    },
  };
};
