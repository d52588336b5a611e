// `lockstep doctor` says what is missing and who can repair it, and its exit code says whether all is well.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { World } from "../engine/world.ts";
import { startCommands } from "./start-commands.ts";

describe("lockstep doctor", () => {
  let world: World;
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-doctor-"));
    world = await World.open({ seed: "company" });
  });
  const commands = startCommands(() => folder);
  after(async () => {
    await commands.end();
    await world?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const run = (args: readonly string[], settings: Readonly<Record<string, string>>) =>
    commands.call(["doctor", ...args], settings);

  it("is content with a tenant that lets it in, and ends with 0", async () => {
    const { code, out, err } = await run([], world.settings);
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /^✓ Certificate: .*thumbprint [0-9A-F]{40} \(SHA-256 [0-9A-F]{64}\)/m);
    assert.match(out, /^STORY › docs\n✓ Sign-in: .*\n✓ Clock: .*\n✓ Permission: .*\n✓ Site .*\n✓ Library /m);
    assert.doesNotMatch(out, /✗/);
    assert.ok(!out.includes("\u001b"), "no colours where there is no terminal");
  });

  it("says what is missing and who can do it, and ends with 1", async () => {
    world.sandbox.state.settings.roles = ["Sites.Selected"];
    const { code, out } = await run(["STORY"], world.settings);
    world.sandbox.state.settings.roles = ["Sites.Read.All"];
    assert.equal(code, 1);
    assert.match(
      out,
      /^✗ Site .*403.*\n {4}A SharePoint Administrator.*\n {4}GET https:\/\/graph.*\n {4}POST https:\/\/graph/m,
    );
    assert.match(out, /^– Library '\/Shared Documents': Not checked before this is solved: Site /m);
    assert.doesNotMatch(out, /PRIVATE KEY|eyJ/);
  });

  it("says of a vector store whose file was lost that it is empty, until a crawl indexes again", async () => {
    const notes = join(folder, "notes");
    await mkdir(notes);
    await writeFile(join(notes, "ibex.md"), "# Ibex\n\nThe ibex climbs at dawn.\n");
    const storage = join(folder, "lost");
    const call = (args: readonly string[]) => commands.call(args, { PERSISTENT_STORAGE_PATH: storage });
    await call(["domains", "create", "NOTES", "--name", "Notes", "--folder", notes]);
    assert.match((await call(["doctor", "NOTES"])).out, /There is none yet/);
    assert.equal((await call(["crawl", "NOTES"])).code, 0);
    for (const name of await readdir(join(storage, "index"))) {
      if (name.startsWith("vs_")) await rm(join(storage, "index", name));
    }
    const lost = await call(["doctor", "NOTES"]);
    assert.equal(lost.code, 1);
    assert.match(
      lost.out,
      /^✗ Vector store vs_\w+: It is empty, although 1 document was indexed: its file was lost\.\n.*lockstep crawl NOTES$/m,
    );
    assert.equal((await call(["crawl", "NOTES"])).code, 0);
    assert.equal((await call(["doctor", "NOTES"])).code, 0);
  });

  it("takes unusable or missing settings as findings", async () => {
    const broken = await run([], { CRAWLER_TENANT_ID: "x", CRAWLER_CONCURRENCY: "99" });
    assert.equal(broken.code, 1);
    assert.match(broken.out, /^✗ Settings: CRAWLER_CONCURRENCY must be a whole number from 1 to 10/m);
    assert.match(broken.out, /^✗ Settings: CRAWLER_CLIENT_ID is needed/m);
    const none = await run(["--json"], {});
    assert.equal(none.code, 1);
    const findings = none.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, string>);
    assert.match(findings[0]?.["detail"] ?? "", /CRAWLER_TENANT_ID, CRAWLER_CLIENT_ID and CRAWLER_CLIENT_CERTIFICATE/);
    assert.equal(findings.at(-1)?.["subject"], "Domains");
  });

  it("refuses an unknown domain, and more than one", async () => {
    const unknown = await run(["NOPE"], world.settings);
    assert.deepEqual([unknown.code, /'NOPE' does not exist/.test(unknown.err)], [2, true]);
    const many = await run(["A", "B"], world.settings);
    assert.deepEqual([many.code, /Usage: lockstep doctor \[DOMAIN\]/.test(many.err)], [2, true]);
  });
});
