// Random histories of a folder end as a simple model says.
import { describe, test } from "node:test";
import { playFolderHistory } from "./folder-history.ts";

/** `npm run soak -- folders` plays hundreds, and longer ones; `--seed N` plays one of these again, and goes on from there. */
const ROUNDS = 4;

describe("random histories of a folder end as the oracle says", { concurrency: 3 }, () => {
  for (const seed of [1, 2, 3]) test(`seed ${seed}`, async () => void (await playFolderHistory(seed, ROUNDS)));
});
