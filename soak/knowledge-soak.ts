import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KillRuns } from "../test/mirror/knowledge-kills.ts";
import type { Soak } from "./soak.ts";

const KILLS = 100;

/** A process that keeps versions of documents is killed at random moments: each document and version is whole. */
export const knowledgeSoak: Soak = {
  count: 2,
  async play(seed) {
    const folder = await mkdtemp(join(tmpdir(), "lockstep-knowledge-soak-"));
    try {
      const runs = new KillRuns(folder, seed);
      for (let i = 0; i < KILLS; i++) await runs.killOnce();
      return `${KILLS} kills, ${runs.kept} versions`;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
