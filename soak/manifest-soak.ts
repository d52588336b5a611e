import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { playMigrateCrashes, STEP } from "../test/engine/play-migrate-crashes.ts";
import { killManifestWriters } from "../test/ledger/manifest-kills.ts";
import { closeManifests, newManifestPlace } from "../test/ledger/manifest-place.ts";
import { Random } from "../test/stories/random.ts";
import type { Soak } from "./soak.ts";

/** SIGKILL of whoever writes a manifest, and a disk that fails at every moment of a migration and of its undoing. */
export const manifestSoak: Soak = {
  count: STEP,
  async play(seed) {
    const random = new Random(seed);
    const folder = await mkdtemp(join(tmpdir(), "lockstep-soak-"));
    try {
      await killManifestWriters(
        await newManifestPlace(folder, "SOAK"),
        Array.from({ length: 16 }, () => random.below(60)),
      );
    } finally {
      await closeManifests();
      await rm(folder, { recursive: true, force: true });
    }
    await playMigrateCrashes(seed);
    return "";
  },
};
