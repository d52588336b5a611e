import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import { filesMetadataSuite } from "../contracts/files-metadata-suite.ts";
import { openTestLedgers } from "./open-test-ledgers.ts";

let storage: string;
let ledgers: Ledgers;
before(async () => {
  storage = await mkdtemp(join(tmpdir(), "lockstep-metadata-"));
  ledgers = openTestLedgers(join(storage, "crawler"));
});
after(async () => {
  await ledgers.close();
  await rm(storage, { recursive: true, force: true });
});

filesMetadataSuite("SQLite", () => ({
  storage,
  ledgers,
  async lose(domainId) {
    await ledgers.release(domainId);
    rmSync(join(storage, "crawler", domainId), { recursive: true });
  },
}));
