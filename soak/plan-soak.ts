import { playPlanHistory } from "../test/engine/plan-history.ts";
import type { Soak } from "./soak.ts";

/** Random histories in which a dry run precedes every crawl: libraries with lists and pages, folders, blobs, web sites in turn. */
export const planSoak: Soak = { count: 500, play: (seed) => playPlanHistory(seed) };
