// Single files are registered, read, indexed and found, and are given up only for good reasons.
import assert from "node:assert/strict";
import {
  access,
  constants,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { BadInputError } from "../../src/contracts/errors.ts";
import { type ItemId, parseDomainId } from "../../src/contracts/ids.ts";
import { createLocalFiles } from "../../src/sources/files/create-local-files.ts";
import { type Azurite, startAzurite } from "../azurite.ts";
import { type BlobWorld, openBlobWorld } from "../sources/blob-world.ts";
import { IngestStage } from "./ingest-stage.ts";

/** Named by a setting, held by the environment. */
const VARIABLE = "LOCKSTEP_TEST_SINGLE_BLOBS";

async function register(stage: IngestStage, source: string, force = false): Promise<ItemId> {
  return (await stage.app.ingest.addFile({ source, domainId: undefined, force })).id;
}

/** A folder on another file system than this one. */
async function otherDisk(folder: string): Promise<string> {
  const { dev } = await stat(folder);
  for (const place of ["/tmp", "/dev/shm", "/var/tmp", "/run"]) {
    const found = await stat(place).catch(() => undefined);
    const mayWrite = await access(place, constants.W_OK).then(
      () => true,
      () => false,
    );
    if (found && mayWrite && found.dev !== dev) return place;
  }
  return "";
}
const ELSEWHERE = await otherDisk(tmpdir());

describe("single files", () => {
  let stage: IngestStage;
  let shares: string;
  const at = (name: string): string => join(shares, "docs", name);
  before(async () => {
    shares = await mkdtemp(join(tmpdir(), "lockstep-shares-"));
    await mkdir(at("."));
    await writeFile(join(shares, "secret.md"), "Nobody reads this.");
    stage = await IngestStage.open({ INGEST_FILE_ROOTS: at(".") });
  });
  after(async () => {
    await stage.close();
    await rm(shares, { recursive: true, force: true });
  });

  it("is read, indexed and found; unchanged it is not read again, edited it is", async () => {
    await writeFile(at("otters.md"), "Otters hold hands.");
    // The clock of the stage stands still; a file from its future has no date.
    stage.now = new Date();
    const id = await register(stage, at("otters.md"));
    assert.match(id, /^file_[a-z2-7]{26}$/);
    assert.equal(await register(stage, `file://${at("x/../otters.md")}`), id);
    await stage.round();
    const known = await stage.item(id);
    assert.deepEqual([known.status, known.content.documentType, known.file.length], ["Indexed", "md", 18]);
    assert.deepEqual(await stage.found("Otters"), [at("otters.md")]);
    stage.later(2);
    assert.deepEqual(await stage.round(), []);
    assert.equal((await stage.item(id)).history.at(-1)?.event, "unchanged");
    assert.equal(await stage.dateOf("Otters"), (await stat(at("otters.md"))).mtime.toISOString().slice(0, 19));
    await writeFile(at("otters.md"), "Otters juggle stones.");
    stage.later(4);
    await stage.round();
    assert.deepEqual([await stage.found("juggle"), await stage.found("hands")], [[at("otters.md")], []]);
  });

  it("leaves when it was not there three times, and comes back", async () => {
    await writeFile(at("bees.md"), "Bees dance.");
    const id = await register(stage, at("bees.md"));
    await stage.round();
    await rename(at("bees.md"), join(shares, "bees.md"));
    for (const [status, hits] of [
      ["Error", 1],
      ["Error", 1],
      ["Gone", 0],
    ] as const) {
      stage.later(2);
      await stage.round();
      assert.deepEqual([(await stage.item(id)).status, (await stage.found("Bees")).length], [status, hits]);
    }
    assert.equal((await stage.item(id)).scheduling.errorMessage, "There is no such file (3 of 3).");
    await rename(join(shares, "bees.md"), at("bees.md"));
    stage.later(15);
    await stage.round();
    assert.deepEqual([(await stage.item(id)).status, await stage.found("Bees")], ["Indexed", [at("bees.md")]]);
  });

  it("is not gone while the folder is not there, and is when it was the last one in it, or the folder went with it", async () => {
    await mkdir(at("team/plans"), { recursive: true });
    await writeFile(at("team/plans/ants.md"), "Ants march.");
    await mkdir(at("alone"));
    await writeFile(at("alone/wasp.md"), "Wasps sting.");
    const ids = [await register(stage, at("team/plans/ants.md")), await register(stage, at("alone/wasp.md"))];
    await stage.round();
    await rename(at("."), join(shares, "away"));
    stage.later(2);
    await stage.round();
    for (const id of ids) {
      const { status, scheduling } = await stage.item(id);
      assert.deepEqual([status, scheduling.goneCount], ["Error", 0]);
      assert.match(scheduling.errorMessage, /mounted\?/);
    }
    await rename(join(shares, "away"), at("."));
    await unlink(at("alone/wasp.md"));
    await rm(at("team/plans"), { recursive: true });
    for (let i = 0; i < 3; i++) {
      stage.later(2);
      await stage.round();
    }
    for (const id of ids) assert.equal((await stage.item(id)).status, "Gone");
    assert.deepEqual([await stage.found("Ants"), await stage.found("Wasps")], [[], []]);
  });

  const skip = ELSEWHERE === "" && "there is one file system only";
  it("is not gone while nothing but the empty place of its share is there", { skip }, async () => {
    const place = at("mounted");
    const share = await mkdtemp(join(ELSEWHERE, "lockstep-share-"));
    const own = await IngestStage.open({ INGEST_FILE_ROOTS: place });
    try {
      await symlink(share, place);
      await mkdir(join(share, "plans"));
      await writeFile(join(share, "plans/moth.md"), "Moths circle.");
      const id = await register(own, join(place, "plans/moth.md"));
      await own.round();
      assert.equal((await own.item(id)).status, "Indexed");
      await unlink(place);
      await mkdir(place);
      for (let i = 0; i < 3; i++) {
        own.later(2);
        await own.round();
      }
      const { status, scheduling } = await own.item(id);
      assert.deepEqual([status, scheduling.goneCount, (await own.found("Moths")).length], ["Error", 0, 1]);
      assert.match(scheduling.errorMessage, /nothing at all in '[^']+mounted'; if it is a share/);
    } finally {
      await own.close();
      await rm(place, { recursive: true, force: true });
      await rm(share, { recursive: true, force: true });
    }
  });

  it("is not given up by a machine that may not read it", async () => {
    const { settings } = stage;
    for (const [INGEST_FILE_ROOTS, status] of [
      ["", "Error"],
      [settings["INGEST_FILE_ROOTS"] ?? "", "Indexed"],
    ] as const) {
      Object.assign(stage, { settings: { ...settings, INGEST_FILE_ROOTS } });
      await stage.reopen();
      stage.later(15);
      await stage.round();
      const { item } = await stage.app.ingest.item(await stage.app.ingest.idOf(at("otters.md")));
      assert.deepEqual([item.status, await stage.found("juggle")], [status, [at("otters.md")]]);
    }
  });

  it("must lie below the roots, and links do not lead out", async () => {
    const outside = ["/etc/passwd", join(shares, "secret.md"), at("../secret.md"), `${at(".")}x/a.md`, "C:\\a.md"];
    for (const source of outside) {
      const refused = await register(stage, source).catch((error: unknown) => error);
      assert.ok(refused instanceof BadInputError, source);
      assert.match(refused.message, /INGEST_FILE_ROOTS allows/);
    }
    await symlink(join(shares, "secret.md"), at("link.md"));
    await symlink(shares, at("up"));
    const here = createLocalFiles({ storagePath: shares, roots: [process.cwd()] });
    if (process.platform !== "win32") {
      assert.match(await here.refusal("C:\\Docs\\a.md"), /ROOTS allows/, "no name in the folder of the process");
    }
    await symlink(at("otters.md"), at("inside.md"));
    await mkdir(at(".keys"));
    await writeFile(at(".keys/a.md"), "Nobody reads this either.");
    await symlink(at(".keys/a.md"), at("shown.md"));
    for (const name of [".keys/a.md", "x/.env.md", `x/../.keys/a.md`]) {
      await assert.rejects(register(stage, at(name)), /begins with a dot/);
    }
    await mkdir(at("folder.md"));
    await writeFile(at("what.exe"), "MZ");
    const expected: readonly [string, string, RegExp | undefined][] = [
      ["link.md", "OutOfScope", /It is a link to a place that may not be read/],
      ["up/secret.md", "OutOfScope", /It is a link to a place that may not be read/],
      ["shown.md", "OutOfScope", /begins with a dot/],
      ["folder.md", "OutOfScope", /It is no file/],
      ["what.exe", "OutOfScope", /type 'exe' are not accepted/],
      ["inside.md", "Indexed", undefined],
    ];
    for (const [name] of expected) await register(stage, at(name));
    await stage.round();
    for (const [name, status, words] of expected) {
      const { item } = await stage.app.ingest.item(await stage.app.ingest.idOf(at(name)));
      assert.equal(item.status, status, name);
      if (words) assert.match(item.scheduling.errorMessage, words);
    }
    assert.deepEqual(await stage.found("Nobody"), []);
    await unlink(at("link.md"));
  });

  it("is looked at again when asked to, by its path, too", async () => {
    const { reindexGeneration } = await stage.app.ingest.reindex({ source: at("otters.md") });
    await stage.round();
    const id = await stage.app.ingest.idOf(at("otters.md"));
    const { processedGeneration, status } = await stage.item(id);
    assert.deepEqual([processedGeneration, status], [reindexGeneration, "Indexed"]);
    await stage.app.ingest.remove(id, (await stage.app.ingest.item(id)).members[0]?.domainId ?? assert.fail());
    await stage.round();
    assert.deepEqual(await stage.found("juggle"), [at("inside.md")]);
  });
});

describe("single blobs", () => {
  let azurite: Azurite;
  let world: BlobWorld;
  let stage: IngestStage;
  before(async () => {
    azurite = await startAzurite();
    world = await openBlobWorld(azurite.connectionString, "single");
    process.env[VARIABLE] = azurite.connectionString;
    stage = await IngestStage.open({ INGEST_BLOB_CREDENTIAL: VARIABLE });
  });
  after(async () => {
    delete process.env[VARIABLE];
    await stage.close();
    await azurite.stop();
  });
  const url = (name: string): string => `${world.container.url}/${name}`;

  it("is read with the server's own credential; a signature in its address is dropped and written nowhere", async () => {
    await world.put("a b/lynx.md", "Lynxes have tufted ears.");
    const sas = await world.sas();
    const added = await stage.app.ingest.addFile({
      source: `${url("a%20b/lynx.md")}${sas}`,
      domainId: undefined,
      force: false,
    });
    assert.match(added.note, /neither kept nor used/);
    await stage.round();
    const item = await stage.item(added.id);
    assert.deepEqual([item.status, item.sourceHost], ["Indexed", new URL(world.container.url).host]);
    assert.equal((await stage.found("Lynxes")).length, 1);
    assert.equal(await stage.app.ingest.idOf(url("a%20b/lynx.md")), added.id);
    const files = await readdir(stage.storage, { recursive: true, withFileTypes: true });
    const signature = new URLSearchParams(sas).get("sig") ?? "";
    for (const file of files.filter((entry) => entry.isFile())) {
      const bytes = await readFile(join(file.parentPath, file.name));
      for (const secret of [signature, encodeURIComponent(signature), "AccountKey="]) {
        assert.ok(!bytes.includes(secret), `${file.name} holds a secret`);
      }
    }
  });

  it("is told from others as the account tells them: by every slash, however it is written", async () => {
    await world.put("a/b.md", "Weasels dance.");
    await world.put("a//b.md", "Badgers dig.");
    const ids: ItemId[] = [];
    for (const name of ["a/b.md", "a//b.md", "a%2Fb.md", "a/b%2Emd"]) ids.push(await register(stage, url(name)));
    assert.deepEqual(
      ids.map((id) => ids.indexOf(id)),
      [0, 1, 0, 0],
    );
    await stage.round();
    assert.deepEqual([(await stage.found("Weasels")).length, (await stage.found("Badgers")).length], [1, 1]);
  });

  it("is not taken for the page of the same address", async () => {
    await world.put("both.md", "Herons wade.");
    const other = parseDomainId("OTHER");
    const named = { domainId: other, name: "other", description: "", vectorStoreName: "", schedule: "", sources: [] };
    await stage.app.domains.create({ ...named, vectorStoreId: "" });
    const usual = { title: "", force: false, includeImages: false };
    const page = await stage.app.ingest.add({ url: url("both.md"), domainId: other, ...usual });
    const blob = await register(stage, url("both.md"));
    const ids = [await stage.app.ingest.idOf(url("both.md")), await stage.app.ingest.idOf(url("both.md"), other)];
    assert.deepEqual(ids, [blob, page.id]);
    assert.equal((await stage.app.ingest.reindex({ source: url("both.md") })).id, blob);
    assert.equal((await stage.app.ingest.reindex({ source: url("both.md"), domainId: other })).id, page.id);
  });

  it("is compared by its ETag, is gone when it was not there three times, and not when its container is gone", async () => {
    await world.put("owl.md", "Owls fly silently.");
    const id = await register(stage, url("owl.md"));
    await stage.round();
    assert.deepEqual((await stage.found("Owls")).length, 1);
    stage.later(2);
    assert.deepEqual(await stage.round(), []);
    await world.put("owl.md", "Owls hoot.");
    stage.later(4);
    await stage.round();
    assert.deepEqual([(await stage.found("hoot")).length, (await stage.found("silently")).length], [1, 0]);
    await world.container.deleteBlob("owl.md");
    for (const status of ["Error", "Error", "Gone"]) {
      stage.later(2);
      await stage.round();
      assert.equal((await stage.item(id)).status, status);
    }
    assert.deepEqual(await stage.found("hoot"), []);
    await world.container.delete();
    const lynx = await stage.app.ingest.idOf(url("a%20b/lynx.md"));
    for (let i = 0; i < 4; i++) {
      stage.later(15);
      await stage.round();
      const { status, scheduling } = await stage.item(lynx);
      assert.deepEqual([status, scheduling.goneCount], ["Error", 0]);
      assert.match(scheduling.errorMessage, /there is no such container/);
    }
    assert.equal((await stage.found("Lynxes")).length, 1);
  });

  it("must be of Azure or of the credential's own account; files of the disk need INGEST_FILE_ROOTS", async () => {
    const wrong: readonly [string, RegExp][] = [
      ["https://169.254.169.254/metadata/x.md", /Blobs of Azure Storage have addresses such as/],
      ["http://account.blob.core.windows.net/box/a.md", /Blobs of Azure Storage have addresses such as/],
      [`${new URL(world.container.url).origin}/otheraccount/box/a.md`, /Blobs of Azure Storage have addresses such as/],
      ["https://account.blob.core.windows.net/box", /not the address of a blob/],
      ["/etc/hostname.md", /INGEST_FILE_ROOTS names no folder/],
      ["notes.md", /no absolute path/],
    ];
    for (const [source, words] of wrong) {
      const refused = await register(stage, source).catch((error: unknown) => error);
      assert.ok(refused instanceof BadInputError, source);
      assert.match(refused.message, words);
    }
  });
});
