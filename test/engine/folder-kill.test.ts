// A folder whose crawl or maintenance is killed is in step after the next run.
import { describe, test } from "node:test";
import { playFolderKill } from "./folder-kill.ts";

/** `npm run soak -- folder-kills` plays a hundred; `--seed N` plays one of these again. */
describe("a folder whose crawl or maintenance is killed is in step after the next run", { concurrency: 3 }, () => {
  for (const seed of [1, 2, 3]) test(`seed ${seed}`, async () => void (await playFolderKill(seed)));
});
