import { htmlDocument } from "../render-page.ts";
import type { MakeSection, SitePage } from "../site-section.ts";

const FIRST = 2026 * 12;

/** Every month links to the next and the one before, for ever. */
export const calendar: MakeSection = () => ({
  name: "calendar",
  entrances: [pathOf(FIRST)],
  *pages(maxDepth) {
    for (let away = 0; away < maxDepth; away++) {
      for (const month of new Set([FIRST + away, FIRST - away])) {
        yield { path: pathOf(month), word: `month${month}`, depth: away + 1, resends: "never" } satisfies SitePage;
      }
    }
  },
  answer(asked) {
    const [, year, month] = /^\/calendar\/(\d{1,6})\/(\d\d)$/.exec(asked.path) ?? [];
    if (year === undefined) return undefined;
    const number = Number(year) * 12 + Number(month) - 1;
    return htmlDocument({ word: `month${number}`, links: [pathOf(number + 1), pathOf(number - 1)] }, asked);
  },
});

function pathOf(month: number): string {
  return `/calendar/${Math.floor(month / 12)}/${String((month % 12) + 1).padStart(2, "0")}`;
}
