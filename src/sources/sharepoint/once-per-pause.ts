import type { OnWait } from "../../lib/pace.ts";

/** Four downloads wait for the same pause; the log should say so once. */
export function oncePerPause(onWait: OnWait | undefined): OnWait {
  let toldUntilMs = 0;
  return (reason, ms) => {
    const untilMs = performance.now() + ms;
    if (!onWait || untilMs <= toldUntilMs + SAME_PAUSE_MS) return;
    toldUntilMs = untilMs;
    onWait(reason, ms);
  };
}

/** Computed at slightly different moments, the end of one pause differs by about this much. */
const SAME_PAUSE_MS = 50;
