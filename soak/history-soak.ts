import { playHistory } from "../test/stories/history.ts";
import type { Soak } from "./soak.ts";

export const historySoak: Soak = {
  count: 200,
  async play(seed) {
    await playHistory(seed);
    return "";
  },
};
