import { htmlDocument, listed } from "../render-page.ts";
import type { MakeSection, Trouble } from "../site-section.ts";

const TROUBLES: Readonly<Record<string, Trouble>> = {
  busy: { how: "status", status: 503, retryAfterSeconds: 0 },
  failing: { how: "status", status: 500 },
  cut: { how: "cut" },
  reset: { how: "reset" },
};

const NAMES = [...Object.keys(TROUBLES), "slow"];

/** Pages whose first answer goes wrong, and are there from then on; and one that takes its time. */
export const unsteady: MakeSection = () => ({
  name: "unsteady",
  entrances: NAMES.map((name) => `/unsteady/${name}`),
  pages: () => NAMES.map((name, i) => listed(`/unsteady/${name}`, `lynx${i}`)),
  answer(asked) {
    const name = asked.path.slice("/unsteady/".length);
    if (!NAMES.includes(name)) return undefined;
    const trouble = TROUBLES[name];
    if (trouble && asked.timesAsked === 0) return { kind: "trouble", trouble };
    return htmlDocument({ word: `lynx${NAMES.indexOf(name)}` }, asked, name === "slow" ? { delayMs: 50 } : {});
  },
});
