import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { ledgerSuite } from "../contracts/ledger-suite.ts";

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "lockstep-ledger-"));
});
after(() => rm(root, { recursive: true, force: true }));

const FORMS = {
  "map files in memory": {},
  "map files left on disk": { heldBytes: 0 },
  "map files left on disk, with tails": { heldBytes: 0, mayLag: true },
} as const;

for (const [form, options] of Object.entries(FORMS)) {
  // Writing so many takes seconds: once is enough.
  const many = options === FORMS["map files left on disk"] ? { many: 50_000 } : {};
  ledgerSuite(form, async () => ({ folder: await mkdtemp(join(root, "one-")), ...options }), many);
}
