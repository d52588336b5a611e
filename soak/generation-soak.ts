import { openAlone, playDraftHistory } from "../test/index/draft-history.ts";
import type { Soak } from "./soak.ts";

export const generationSoak: Soak = {
  count: 300,
  async play(seed) {
    await playDraftHistory(seed, openAlone);
    return "";
  },
};
