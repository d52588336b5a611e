import { join } from "node:path";
import { ActClock } from "./act-clock.ts";
import type { History } from "./history.ts";
import { RecordedStage } from "./stage.ts";

/** Below it each history has a folder, with a file for each view. */
export const RECORDINGS = join(import.meta.dirname, "recordings");

/** Plays a history against the product and returns what was seen: the texts of its recording, by file name. */
export async function play(history: History): Promise<ReadonlyMap<string, string>> {
  // As the program does: what it makes is its own.
  const umask = process.umask(0o077);
  const clock = new ActClock(history.isApart ? { backDays: 300 } : {});
  try {
    const stage = await RecordedStage.open(clock);
    try {
      await history.play(stage);
    } finally {
      await stage.close();
    }
    return stage.recording.files();
  } finally {
    clock.stop();
    process.umask(umask);
  }
}
