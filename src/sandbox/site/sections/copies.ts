import { htmlDocument, listed } from "../render-page.ts";
import type { MakeSection } from "../site-section.ts";

const COPIES = ["/copies/first", "/copies/second", "/copies/third"];

/** The same bytes at several addresses, none of which says that it is a copy: each is a page. */
export const copies: MakeSection = () => ({
  name: "copies",
  entrances: COPIES,
  pages: () => COPIES.map((path) => listed(path, "quail1")),
  answer(asked) {
    return COPIES.includes(asked.path) ? htmlDocument({ word: "quail1" }, asked) : undefined;
  },
});
