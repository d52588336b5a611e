// Once there are keys, only folders below FOLDER_ROOTS can be sources, and those that were there before stay.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { ComposePace } from "../../src/app/compose.ts";
import { type RunningServer, serveHttp } from "../../src/http/serve-http.ts";
import { ask } from "../http/ask.ts";
import { DOCS, FOLDERS, FolderStage } from "./folder-stage.ts";

const findings = async (stage: FolderStage): Promise<string[]> => {
  const said: string[] = [];
  for await (const { subject, outcome, detail, remedy } of stage.app.examine(undefined, AbortSignal.timeout(600_000))) {
    said.push(`${outcome} ${subject}: ${detail} ${remedy}`);
  }
  return said;
};

describe("folders once there are keys", () => {
  let stage: FolderStage;
  let server: RunningServer;
  let headers: Record<string, string>;
  before(async () => {
    stage = await FolderStage.open();
    await stage.write("otter.md", "The otter sleeps on its back.");
    await stage.crawl();
    const { key } = await stage.app.access.keys.create({ name: "ada", role: "admin", expiresAt: "" });
    headers = { authorization: `Bearer ${key}` };
    server = await serveHttp(stage.app, { host: "127.0.0.1", port: 0 });
  });
  after(async () => {
    await server?.close();
    await stage?.close();
  });

  it("a source outside FOLDER_ROOTS fails by name, and nothing of it is removed", async () => {
    await stage.write("new.md", "A heron came.");
    const { job, source } = await stage.tryCrawl();
    assert.equal(job.result?.ok, false);
    assert.match(source.error, /there are keys/);
    assert.ok(source.error.includes(`Set FOLDER_ROOTS to '${stage.root}'`), source.error);
    assert.deepEqual(await stage.found("otter"), ["otter.md"]);
    assert.deepEqual(await stage.found("heron"), []);
    assert.ok((await findings(stage)).some((line) => /^problem Folder .*Set FOLDER_ROOTS/.test(line)));
  });

  it("none is saved, looked at or changed outside FOLDER_ROOTS", async () => {
    const folder_sources = [{ source_id: "etc", root: "/etc" }];
    const json = { domain_id: "ETC", name: "etc", folder_sources };
    const made = await ask(server.url, "POST /v2/domains/create", { headers, json });
    assert.deepEqual([made.status, /Set FOLDER_ROOTS to '\/etc'/.test(made.text)], [400, true], made.text);
    const looked = await ask(server.url, "GET /v2/domains/check_source?source_type=folder_sources&root=/etc", {
      headers,
    });
    assert.match(looked.text, /Set FOLDER_ROOTS/);
    assert.doesNotMatch(looked.text, /Has \d+ file|Has at least/);
    const changed = { folder_sources: [{ source_id: DOCS, root: stage.root, hidden: true }] };
    const address = `PUT /v2/domains/update?domain_id=${FOLDERS}`;
    assert.equal((await ask(server.url, address, { headers, json: changed })).status, 400);
    assert.equal((await ask(server.url, address, { headers, json: { name: "Renamed" } })).status, 200);
  });

  it("below FOLDER_ROOTS everything is as it was", async () => {
    const settings = stage.settings;
    Object.assign(stage, { settings: { ...settings, FOLDER_ROOTS: stage.root } });
    await stage.reopen();
    await stage.crawl();
    assert.deepEqual(await stage.found("heron"), ["new.md"]);
    Object.assign(stage, { settings });
  });
});

describe("folders of sources that were there before the upgrade", () => {
  let place: string;
  let stage: FolderStage;
  before(async () => {
    place = await mkdtemp(join(tmpdir(), "lockstep-earlier-"));
    const folder = join(place, "storage", "domains", FOLDERS);
    await mkdir(folder, { recursive: true });
    const folder_sources = [{ source_id: DOCS, root: join(place, "root") }];
    await writeFile(join(folder, "domain.json"), JSON.stringify({ name: "Folders", folder_sources }));
    stage = await FolderStage.open({ place, settings: { ADMIN_API_KEY: "k3y-That-nobody-Guesses-at-all-4711" } });
    await stage.write("otter.md", "The otter sleeps on its back.");
  });
  after(async () => {
    await stage?.close();
    await rm(place, { recursive: true, force: true });
  });

  it("stay allowed, also after a restart, and doctor lists them", async () => {
    for (let start = 0; start < 2; start++) {
      await stage.crawl();
      await stage.reopen();
    }
    assert.deepEqual(await stage.found("otter"), ["otter.md"]);
    const said = await findings(stage);
    assert.ok(
      said.some((line) => line.includes(`Folder of ${FOLDERS} › ${DOCS}: '${stage.root}' is read although`)),
      said.join("\n"),
    );
  });

  it("one that is changed by hand after it is not", async () => {
    const path = join(place, "storage", "domains", FOLDERS, "domain.json");
    const before = await readFile(path, "utf8");
    await mkdir(join(place, "other"), { recursive: true });
    await writeFile(path, before.replace(JSON.stringify(stage.root), JSON.stringify(join(place, "other"))));
    await stage.reopen();
    const { job, source } = await stage.tryCrawl();
    assert.deepEqual([job.result?.ok, /Set FOLDER_ROOTS/.test(source.error)], [false, true], source.error);
    assert.deepEqual(await stage.found("otter"), ["otter.md"]);
    await writeFile(path, before);
  });
});

describe("what is written down of earlier folders", () => {
  let place: string;
  const earlier = (): Promise<string | undefined> =>
    readFile(join(place, "storage", "security", "earlier-roots.json"), "utf8").catch(() => undefined);
  const open = (pace: ComposePace = {}): Promise<FolderStage> => FolderStage.open({ place, pace });
  before(async () => {
    place = await mkdtemp(join(tmpdir(), "lockstep-earlier-"));
    const [first, second] = [join(place, "storage/domains/FIRST"), join(place, "storage/domains/SECOND")];
    for (const folder of [first, second]) await mkdir(folder, { recursive: true });
    const folder_sources = [{ source_id: DOCS, root: join(place, "second") }];
    await writeFile(join(first, "domain.json"), "{ cut");
    await writeFile(join(second, "domain.json"), JSON.stringify({ name: "Second", folder_sources }));
  });
  after(async () => await rm(place, { recursive: true, force: true }));

  it("waits for a domain.json that cannot be read, and is not for whoever only looks", async () => {
    await (await open()).close();
    assert.equal(await earlier(), undefined);
    const folder_sources = [{ source_id: DOCS, root: join(place, "first") }];
    const content = JSON.stringify({ name: "First", folder_sources });
    await writeFile(join(place, "storage/domains/FIRST/domain.json"), content);
    await (await open({ readOnly: true })).close();
    assert.equal(await earlier(), undefined);
    await (await open()).close();
    const { roots } = JSON.parse((await earlier()) ?? "{}");
    for (const name of ["first", "second"]) assert.ok(roots.includes(join(place, name)), String(roots));
  });
});
