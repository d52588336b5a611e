import { playDraftHistory } from "../test/index/draft-history.ts";
import type { Soak } from "./soak.ts";

export const generationSoak: Soak = {
  count: 200,
  async play(seed) {
    await playDraftHistory(seed);
    return "";
  },
};
