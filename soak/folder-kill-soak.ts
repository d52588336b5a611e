import { playFolderKill } from "../test/engine/folder-kill.ts";
import type { Soak } from "./soak.ts";

/** SIGKILL in the middle of ingestion or maintenance; the next run must make it good. */
export const folderKillSoak: Soak = { count: 100, play: (seed) => playFolderKill(seed) };
