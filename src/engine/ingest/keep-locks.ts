import { setInterval } from "node:timers";
import type { ItemId } from "../../contracts/ids.ts";
import { lock } from "../../plan/web/lock-item.ts";
import { changeItem } from "./change-item.ts";
import type { LookerParts } from "./create-item-looker.ts";

export interface HeldLocks {
  /** Aborts when they belong to somebody else, or may do so because nobody could be told for too long. */
  readonly lost: AbortSignal;
  /** Resolves when nothing of this will be written any more. */
  end(): Promise<void>;
}

/** Renews the locks until their end. */
export function keepLocks(
  ids: readonly ItemId[],
  token: string,
  { registry, lockMs, now }: Required<Pick<LookerParts, "registry" | "lockMs" | "now">>,
  heartbeat: () => Promise<boolean> = async () => true,
): HeldLocks {
  const lost = new AbortController();
  let renewedAtMs = performance.now();
  let renewing = Promise.resolve();
  const renew = async (): Promise<boolean> => {
    for (const id of ids) {
      const renewed = await changeItem(registry, id, (item) =>
        item.lock.lockedBy === token ? lock(item, token, now(), lockMs) : item,
      );
      if (renewed?.item.lock.lockedBy !== token) return false;
    }
    return await heartbeat();
  };
  const timer = setInterval(() => {
    const askedAtMs = performance.now();
    renewing = renewing.then(renew).then(
      (held) => {
        if (held) renewedAtMs = askedAtMs;
        else lost.abort();
      },
      () => {
        if (performance.now() - renewedAtMs > lockMs) lost.abort();
      },
    );
  }, lockMs / 4);
  return {
    lost: lost.signal,
    async end() {
      clearInterval(timer);
      await renewing;
    },
  };
}
