import { htmlDocument, listed } from "../render-page.ts";
import type { MakeSection } from "../site-section.ts";

/** One page, many ways to write its address. */
export const spellings: MakeSection = ({ origin }) => ({
  name: "spelling",
  entrances: [
    "/spelling/page?a=1&b=2",
    "/spelling/page?b=2&a=1",
    "/spelling/page/?a=1&b=2#top",
    "/spelling/../spelling/page?a=1&utm_campaign=autumn&b=2&fbclid=x",
    `${origin.replace("http", "HTTP")}/spelling/page?a=1&b=2`,
    "/spelling/~user",
    "/spelling/%7Euser",
    "/spelling/caf%c3%a9",
    "/spelling/caf%C3%A9",
    "/spelling/café",
  ],
  pages: () => [
    listed("/spelling/page?a=1&b=2", "stork1"),
    listed("/spelling/~user", "stork2"),
    listed("/spelling/caf%C3%A9", "stork3"),
  ],
  answer(asked) {
    const name = decodeURIComponent(asked.path).slice("/spelling/".length).replace(/\/$/, "");
    const word = { page: "stork1", "~user": "stork2", café: "stork3" }[name];
    return word === undefined ? undefined : htmlDocument({ word }, asked);
  },
});
