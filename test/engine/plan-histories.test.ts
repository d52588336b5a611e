// Random histories of containers and web sites: a dry run plans what the run after it does, item by item.
import { test } from "node:test";
import { playPlanHistory } from "./plan-history.ts";

/** A sample; `npm run soak -- plans` plays hundreds, of tenants and folders too, and with `--seed` any one of them again. */
for (const seed of [2, 3]) test(`history ${seed} with plans`, async () => void (await playPlanHistory(seed)));
