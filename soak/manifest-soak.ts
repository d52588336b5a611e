import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { playMigrateCrashes, STEP } from "../test/engine/play-migrate-crashes.ts";
import { fillManifest, killManifestWriters, LARGE_FROM, sameWithoutIndex } from "../test/ledgers/manifest-kills.ts";
import { Random } from "../test/stories/random.ts";
import type { Soak } from "./soak.ts";

/** SIGKILL of whoever writes a manifest, and a disk that fails at every moment of a migration and of its undoing. */
export const manifestSoak: Soak = {
  count: STEP,
  async play(seed) {
    const random = new Random(seed);
    const folder = await mkdtemp(join(tmpdir(), "lockstep-soak-"));
    try {
      for (const size of ["small", "large"]) {
        const place = { folder: join(folder, size), largeFrom: LARGE_FROM };
        if (size === "large") await fillManifest(place);
        await killManifestWriters(
          place,
          Array.from({ length: 8 }, () => random.below(60)),
          (entries) => sameWithoutIndex(place, entries),
        );
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    await playMigrateCrashes(seed);
    return "";
  },
};
