import { playFolderHistory } from "../test/engine/folder-history.ts";
import type { Soak } from "./soak.ts";

/** Random histories of a folder, against an oracle that knows which file is which. */
export const folderHistorySoak: Soak = { count: 300, play: (seed) => playFolderHistory(seed) };
