import { ownerOf } from "../contracts/access.ts";
import type { Searching } from "../contracts/backend.ts";
import { BusyError } from "../contracts/errors.ts";
import { createAtMostPer } from "../lib/at-most-per.ts";

const LIMITS = { atOnce: 4, waiting: 100 };

export function createSearching(limits = LIMITS): Searching {
  const perKey = createAtMostPer(limits);
  return async ({ principal, signal }, work) => {
    if (!principal) return work();
    try {
      return await perKey.run(ownerOf(principal), work, signal);
    } catch (error) {
      if (!(error instanceof BusyError)) throw error;
      throw new BusyError(
        `Too many searches at once: ${limits.atOnce} are under way for this key, and ${limits.waiting} wait. Ask again when some are answered.`,
      );
    }
  };
}
