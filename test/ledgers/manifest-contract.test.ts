import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { manifestSuite } from "../contracts/manifest-suite.ts";

let root: string;
before(async () => {
  root = await mkdtemp(join(tmpdir(), "lockstep-manifest-"));
});
after(() => rm(root, { recursive: true, force: true }));

const newFolder = async () => ({ folder: await mkdtemp(join(root, "one-")) });

manifestSuite("a file", newFolder, { many: 50_000 });
manifestSuite("a file that counts as large", async () => ({ ...(await newFolder()), largeFrom: 0 }));
