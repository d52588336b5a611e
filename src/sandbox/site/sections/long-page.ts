import { htmlDocument, listed } from "../render-page.ts";
import type { MakeSection } from "../site-section.ts";

/** One page of some 700 KB. */
export const longPage: MakeSection = () => ({
  name: "long",
  entrances: ["/long/page"],
  pages: () => [listed("/long/page", "mammoth1")],
  answer(asked) {
    return asked.path === "/long/page" ? htmlDocument({ word: "mammoth1", length: 500 }, asked) : undefined;
  },
});
