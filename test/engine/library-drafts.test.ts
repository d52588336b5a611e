// Of a library with drafts only what is published is fetched and found.
import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { after, before, beforeEach, describe, test } from "node:test";
import { parseDomain } from "../kinds.ts";
import { DOMAIN, LIBRARY, World } from "./world.ts";

describe("drafts in a library", () => {
  let world: World;
  before(async () => {
    world = await World.open();
  });
  after(() => world.close());
  beforeEach(async () => {
    await world.control("POST", "reset", {});
    await world.change("set-library", { path: LIBRARY, minorVersions: true });
    await configure({ file_sources: [] });
    await world.runToEnd({ confirmDeletes: true });
    await configure({});
  });

  async function configure(json: object, source: object = {}): Promise<void> {
    const now = await world.app.domains.get(DOMAIN);
    await world.app.domains.update(parseDomain({ ...world.domainJson(source), ...json }, DOMAIN), now);
  }

  async function publish(name: string, text: string): Promise<void> {
    await world.change("add", { path: name, text });
    await world.change("publish", { path: name });
  }

  async function crawl(wishes: Parameters<World["crawl"]>[0] = {}): ReturnType<World["crawl"]> {
    const crawled = await world.crawl(wishes);
    assert.equal(crawled.job.result?.error, "");
    return crawled;
  }

  async function assertSays(word: string, text: RegExp): Promise<void> {
    assert.match((await world.search(word)).map((hit) => hit.text).join("\n"), text);
  }

  async function assertSilent(word: string): Promise<void> {
    const hits = await world.search(word);
    assert.ok(!hits.some((hit) => hit.text.includes(word)), `${word} is found`);
  }

  test("a draft over a published version: bytes, size and time of what is published", async () => {
    await world.control("POST", "clock", { at: "2026-05-02T08:00:00Z" });
    await publish("known.txt", "The kestrel is published.");
    await publish("new.txt", "The merlin is published.");
    await world.control("POST", "clock", { advanceSeconds: 60 });
    await world.change("update", { path: "new.txt", text: "The osprey is a secret draft." });
    await crawl();
    await world.change("update", { path: "known.txt", text: "The goshawk is a secret draft." });
    const { source } = await crawl();
    assert.deepEqual([source.download.changed, source.download.unchanged], [0, 2]);
    for (const word of ["kestrel", "merlin"]) await assertSays(word, new RegExp(`The ${word} is published`));
    for (const word of ["osprey", "goshawk"]) await assertSilent(word);
    for (const map of ["sharepoint_map", "files_map", "vectorstore_map"] as const) {
      const rows = (await world.map(map)).map((row) => [row["filename"], row["file_size"], row["last_modified_utc"]]);
      const at = "2026-05-02T08:00:00.000000Z";
      assert.deepEqual(
        rows.sort(),
        [
          ["known.txt", "25", at],
          ["new.txt", "24", at],
        ],
        map,
      );
    }
    // What is lost on disk comes back as it is published, also where only the changes are asked for.
    await rm(world.folder("02_embedded/known.txt"));
    await crawl();
    assert.equal(await readFile(world.folder("02_embedded/known.txt"), "utf8"), "The kestrel is published.");
    await world.change("publish", { path: "known.txt" });
    await world.change("publish", { path: "new.txt" });
    await crawl();
    for (const word of ["osprey", "goshawk"]) await assertSays(word, new RegExp(`The ${word} is a secret`));
    await assertSilent("kestrel");
  });

  test("published within the same second and of the same size: seen all the same", async () => {
    await world.control("POST", "clock", { at: "2026-05-02T08:00:00Z" });
    await publish("a.txt", "The kestrel is number 1.");
    await world.change("update", { path: "a.txt", text: "The kestrel is number 2." });
    await crawl();
    await assertSays("kestrel", /number 1/);
    await world.change("publish", { path: "a.txt" });
    await crawl();
    await assertSays("kestrel", /number 2/);
    await world.change("update", { path: "a.txt", text: "The kestrel is number 3." });
    await crawl();
    await assertSays("kestrel", /number 2/);
    await world.change("publish", { path: "a.txt" });
    await crawl();
    await assertSays("kestrel", /number 3/);
  });

  test("what was never published is in sharepoint_map.csv only, whatever way the source is looked at", async () => {
    await publish("public.txt", "The kestrel is published.");
    await world.change("add", { path: "draft.txt", text: "The osprey is a secret draft." });
    const first = await crawl();
    assert.match(first.log, /Skipped 'draft\.txt': .*published/);
    const assertAside = async (): Promise<void> => {
      await assertSilent("osprey");
      assert.ok((await world.names("sharepoint_map")).includes("draft.txt"));
      assert.ok(!(await world.names("files_map")).includes("draft.txt"));
      assert.ok(!(await world.names("vectorstore_map")).includes("draft.txt"));
      assert.ok(!(await world.disk()).includes("draft.txt"));
    };
    await assertAside();
    await publish("more.txt", "The merlin is published.");
    const { log } = await crawl();
    assert.match(log, /by the change log/);
    await assertAside();
    await crawl();
    await world.change("update", { path: "draft.txt", text: "The osprey is still a secret draft." });
    await crawl();
    await assertAside();
    await world.change("publish", { path: "draft.txt" });
    await crawl();
    await assertSays("osprey", /still a secret/);
  });

  test("leaving because it was never published passes the guard, and is held in every run until it is confirmed", async () => {
    await configure({}, { drafts: true });
    await publish("public.txt", "The kestrel is published.");
    await world.change("add", { path: "draft.txt", text: "The osprey is a secret draft." });
    await crawl();
    await assertSays("osprey", /secret/);
    await configure({}, { max_removals: 0, max_removals_percent: 0 });
    for (const _ of [1, 2]) {
      const held = await world.crawl();
      assert.deepEqual([held.job.result?.ok, held.source.download.held], [false, 1]);
      await assertSays("osprey", /secret/);
    }
    await crawl({ confirmDeletes: true });
    await assertSilent("osprey");
    assert.deepEqual(await world.names("sharepoint_map"), ["draft.txt", "public.txt"]);
    assert.deepEqual(await world.names("vectorstore_map"), ["public.txt"]);
  });

  test("step by step as in one: what download put aside, embed takes out of search", async () => {
    await configure({}, { drafts: true });
    await publish("public.txt", "The kestrel is published.");
    await world.change("add", { path: "draft.txt", text: "The osprey is a secret draft." });
    await crawl();
    await configure({});
    for (const step of ["download", "process", "embed"] as const) await crawl({ steps: [step] });
    await assertSilent("osprey");
    await assertSays("kestrel", /published/);
  });

  for (const [title, hide] of [
    ["by a setting of the library", () => world.change("set-library", { path: LIBRARY, draftVisibility: 2 })],
    ["by the rights of the app", () => world.control("POST", "settings", { drafts: "hidden" })],
  ] as const) {
    test(`drafts: true takes drafts, until they are hidden ${title}`, async () => {
      await configure({}, { drafts: true });
      await publish("a.txt", "The kestrel is published.");
      await world.change("update", { path: "a.txt", text: "The goshawk is a draft." });
      await world.change("add", { path: "draft.txt", text: "The osprey is a draft." });
      await crawl();
      await assertSays("goshawk", /draft/);
      await assertSays("osprey", /draft/);
      await hide();
      await crawl();
      await assertSays("kestrel", /published/);
      await assertSilent("osprey");
      await assertSilent("goshawk");
    });
  }

  test("approval: what waits for it is not served, however often it was edited meanwhile", async () => {
    await world.change("set-library", { path: LIBRARY, minorVersions: false, moderation: true });
    await world.change("add", { path: "a.txt", text: "The kestrel waits." });
    await world.change("add", { path: "never.txt", text: "The osprey waits." });
    await world.change("update", { path: "never.txt", text: "The osprey waits again." });
    await crawl();
    for (const word of ["kestrel", "osprey"]) await assertSilent(word);
    assert.deepEqual(await world.names("sharepoint_map"), ["a.txt", "never.txt"]);
    await world.change("approve", { path: "a.txt" });
    await crawl();
    await assertSays("kestrel", /waits/);
    await world.change("update", { path: "a.txt", text: "The merlin waits." });
    await world.change("update", { path: "a.txt", text: "The goshawk waits." });
    await crawl();
    await assertSays("kestrel", /waits/);
    for (const word of ["merlin", "goshawk", "osprey"]) await assertSilent(word);
    await world.change("approve", { path: "a.txt" });
    await crawl();
    await assertSays("goshawk", /waits/);
    await assertSilent("kestrel");
  });

  test("a draft in a library that has none by now is not served, whichever way the file is met", async () => {
    // As long as what is published: nothing but the version tells them apart.
    await publish("known.txt", "The kestrel is published.");
    await publish("deleted.txt", "The merlin is published.");
    await world.change("update", { path: "deleted.txt", text: "The osprey is unreadable" });
    await world.change("delete", { path: "deleted.txt" });
    await crawl();
    await world.change("update", { path: "known.txt", text: "The goshawk is unreadable" });
    await world.change("set-library", { path: LIBRARY, minorVersions: false });
    await crawl();
    const assertPublished = async (words: readonly string[]): Promise<void> => {
      for (const word of words) await assertSays(word, new RegExp(`The ${word} is published`));
      for (const word of ["osprey", "goshawk"]) await assertSilent(word);
    };
    await assertPublished(["kestrel"]);
    // The change log shows it first.
    await world.change("restore", { path: "deleted.txt" });
    const { log } = await crawl();
    assert.match(log, /by the change log/);
    await assertPublished(["kestrel", "merlin"]);
    // The change log has nothing to say of what is lost on disk.
    for (const name of ["known.txt", "deleted.txt"]) await rm(world.folder(`02_embedded/${name}`));
    assert.match((await crawl()).log, /by the change log/);
    assert.equal(await readFile(world.folder("02_embedded/known.txt"), "utf8"), "The kestrel is published.");
    assert.equal(await readFile(world.folder("02_embedded/deleted.txt"), "utf8"), "The merlin is published.");
    await assertPublished(["kestrel", "merlin"]);
  });

  for (const [title, effect] of [
    ["refuses to tell", { status: 400 }],
    ["does not tell", { status: 200, body: '{"value":[{"VersionId":512},{"VersionId":1024}]}' }],
  ] as const) {
    test(`approval: where the server ${title} what was approved, what is known stays and nothing else is served`, async () => {
      await world.change("set-library", { path: LIBRARY, minorVersions: false, moderation: true });
      await world.change("add", { path: "a.txt", text: "The kestrel waits." });
      await world.change("approve", { path: "a.txt" });
      await crawl();
      for (const bird of ["merlin", "goshawk"]) {
        await world.change("update", { path: "a.txt", text: `The ${bird} waits.` });
      }
      await world.fault({ url: "ModerationStatus", times: "always" }, effect);
      await rm(world.folder("02_embedded/a.txt"));
      for (const _ of [1, 2]) {
        const { log } = await world.crawl();
        assert.match(log, /a\.txt.*which versions were approved/);
        for (const bird of ["merlin", "goshawk"]) await assertSilent(bird);
        await assertSays("kestrel", /waits/);
      }
      await world.control("DELETE", "faults");
      await crawl();
      await assertSays("kestrel", /waits/);
    });
  }
});
