// The manifest keeps its contract in SQLite.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { manifestSuite } from "../contracts/manifest-suite.ts";
import { closeManifests, newManifestPlace } from "./manifest-place.ts";

let root: string;
let count = 0;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "lockstep-manifest-"));
});
after(async () => {
  await closeManifests();
  await rm(root, { recursive: true, force: true });
});

manifestSuite("SQLite", () => newManifestPlace(root, `D${++count}`), { many: 20_000 });
