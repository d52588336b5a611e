import { playCorruption } from "../test/engine/verify-corruptions.ts";
import type { Soak } from "./soak.ts";

/** Something stored is corrupted: verify names that and nothing else, and repairs it. */
export const verifySoak: Soak = { count: 100, play: (seed) => playCorruption(seed) };
