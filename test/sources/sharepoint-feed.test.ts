// The change feed of a library reports what a listing would show.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { ChangesSince, Sighting, Source } from "../../src/contracts/source.ts";
import { DOCS, paths, useSandbox } from "./sandbox-world.ts";
import { listAll } from "./scripted-tenant.ts";

const signal = new AbortController().signal;

/** What a crawler knows after its first run: the mark taken before the listing, and the listing. */
interface Look {
  readonly source: Source;
  readonly mark: string;
  readonly known: Map<ItemId, Sighting>;
}

async function lookAt(source: Source): Promise<Look> {
  const mark = (await source.feed?.cursor(signal)) ?? "";
  const { sightings } = await listAll(source);
  return { source, mark, known: new Map(sightings.map((each) => [each.itemId, each])) };
}

async function since({ source, mark, known }: Look): Promise<ChangesSince | undefined> {
  return await source.feed?.since(mark, async (item) => known.has(item), signal);
}

function told(changes: ChangesSince | undefined, { known }: Look): { touched: string[]; gone: string[] } | undefined {
  if (!changes) return undefined;
  const gone = changes.gone.map((item) => known.get(item)?.path ?? item).toSorted();
  return { touched: paths(changes.touched), gone };
}

describe("the change feed of a library", () => {
  const world = useSandbox();

  it("tells in two questions that nothing happened", async () => {
    for (const name of ["a.txt", "A/b.txt"]) world.add(name);
    const look = await lookAt(world.open());
    const asked = world.sandbox.state.log.entries().length;
    assert.deepEqual(told(await since(look), look), { touched: [], gone: [] });
    assert.equal(world.sandbox.state.log.entries().length - asked, 2, "the site and the library");
  });

  it("tells every change of a file, as the listing would show it", async () => {
    for (const name of ["edit.txt", "rename.txt", "A/move.txt", "delete.txt", "still.txt", "B/x.txt"]) world.add(name);
    const look = await lookAt(world.open());
    world.add("C/new.txt");
    world.act("update", { path: `${DOCS}/edit.txt`, text: "other words" });
    world.act("rename", { path: `${DOCS}/rename.txt`, name: "renamed.txt" });
    world.act("move", { path: `${DOCS}/A/move.txt`, to: `${DOCS}/B/move.txt` });
    world.act("delete", { path: `${DOCS}/delete.txt` });
    world.add("passing.txt");
    world.act("delete", { path: `${DOCS}/passing.txt` });
    const changes = await since(look);
    assert.deepEqual(told(changes, look), {
      touched: ["B/move.txt", "C/new.txt", "edit.txt", "renamed.txt"],
      gone: ["delete.txt"],
    });
    const listed = new Map((await listAll(look.source)).sightings.map((each) => [each.itemId, each]));
    for (const sighting of changes?.touched ?? []) assert.deepEqual(sighting, listed.get(sighting.itemId));
    const after = { ...look, mark: changes?.cursor ?? "", known: listed };
    assert.deepEqual(told(await since(after), after), { touched: [], gone: [] });
  });

  it("recalls an item of which nothing was heard exactly as it was listed", async () => {
    world.add("Odd 'n #%+/It's 100%.txt");
    for (const urlPart of ["/Shared Documents", "/shared documents/ODD 'n #%+"]) {
      const look = await lookAt(world.open({ urlPart }));
      const changes = await since(look);
      for (const sighting of look.known.values()) {
        const { itemId, listItemId, name, serverPath, url, rawUrl, fingerprint } = sighting;
        const remembered = { itemId, listItemId, name, serverPath, url, rawUrl, fingerprint };
        assert.deepEqual(changes?.recall(remembered), { ...sighting, url: sighting.url });
      }
      assert.equal(look.known.size, 1);
    }
  });

  it("sees only its part of the library, and what leaves it as gone", async () => {
    for (const name of ["In/a.txt", "In/b.txt", "Out/c.txt", "Out/d.txt"]) world.add(name);
    const look = await lookAt(world.open({ urlPart: "/Shared Documents/In" }));
    world.act("move", { path: `${DOCS}/In/a.txt`, to: `${DOCS}/Out/a.txt` });
    world.act("move", { path: `${DOCS}/Out/c.txt`, to: `${DOCS}/In/c.txt` });
    world.act("update", { path: `${DOCS}/Out/d.txt`, text: "nobody asked" });
    assert.deepEqual(told(await since(look), look), { touched: ["c.txt"], gone: ["a.txt"] });
  });

  it("tells what happened between the mark and the listing once more", async () => {
    world.add("a.txt");
    const source = world.open();
    const mark = (await source.feed?.cursor(signal)) ?? "";
    world.add("b.txt");
    const { sightings } = await listAll(source);
    const look = { source, mark, known: new Map(sightings.map((each) => [each.itemId, each])) };
    assert.deepEqual(told(await since(look), look), { touched: ["b.txt"], gone: [] });
    world.act("delete", { path: `${DOCS}/b.txt` });
    assert.deepEqual(told(await since(look), look), { touched: [], gone: ["b.txt"] });
  });

  it("takes in what happens while it looks", async () => {
    world.add("a.txt");
    const look = await lookAt(world.open());
    world.add("b.txt");
    const path = `${DOCS}/c.txt`;
    world.strike({ url: "/items" }, { run: [{ operation: "add", path, text: "meanwhile" }] });
    assert.deepEqual(told(await since(look), look), { touched: ["b.txt", "c.txt"], gone: [] });
  });

  it("reads a long log in pages and asks for many items at once", async () => {
    world.act("fill", { path: `${DOCS}/Many`, count: 300 });
    const look = await lookAt(world.open());
    for (const { serverPath } of look.known.values()) {
      for (let i = 0; i < 4; i += 1) world.act("update", { path: serverPath, text: `version ${i}` });
    }
    const asked = world.sandbox.state.log.entries().length;
    assert.equal((await since(look))?.touched.length, 300);
    const urls = world.sandbox.state.log.entries().slice(asked);
    assert.equal(urls.filter(({ url }) => url.includes("GetChanges")).length, 4, "two pages, the empty one, and again");
    assert.equal(urls.filter(({ url }) => url.includes("/items")).length, 1);
  });

  const doubts: Record<string, (look: Look) => unknown> = {
    "a folder was renamed": () => world.act("rename", { path: `${DOCS}/A`, name: "Z" }),
    "a folder was moved": () => world.act("move", { path: `${DOCS}/A`, to: `${DOCS}/B/A` }),
    "a folder was deleted": () => world.act("delete", { path: `${DOCS}/A` }),
    "an empty folder was deleted": () => world.act("delete", { path: `${DOCS}/Empty` }),
    "a folder came back": () => world.act("restore", { path: `${DOCS}/Bin` }),
    "too much happened": () => world.act("fill", { path: `${DOCS}/Many`, count: 501 }),
    "the log has a change nobody knows": () => {
      world.add("x.txt");
      const change = {
        ChangeType: 21,
        ItemId: 1,
        UniqueId: crypto.randomUUID(),
        ChangeToken: { StringValue: "1;3;x" },
      };
      world.strike({ url: "GetChanges" }, { status: 200, body: JSON.stringify({ value: [change] }) });
    },
    "the log goes round in circles": ({ mark }) => {
      world.add("x.txt");
      const token = (JSON.parse(mark) as { token: string }).token;
      const change = { ChangeType: 2, ItemId: 1, UniqueId: crypto.randomUUID(), ChangeToken: { StringValue: token } };
      world.strike({ url: "GetChanges", times: "always" }, { status: 200, body: JSON.stringify({ value: [change] }) });
    },
    "the log says nothing about something that is gone": () => {
      world.act("delete", { path: `${DOCS}/A/a.txt` });
      world.strike({ url: "GetChanges", times: "always" }, { status: 200, body: '{"value":[]}' });
    },
    "the log no longer reaches back": () => world.act("expire-change-log", {}),
    "an item cannot be looked up": () => {
      world.add("x.txt");
      world.strike({ url: "/items", times: "always" }, { status: 502 });
    },
    "the library does not stand still": () => {
      world.add("x.txt");
      const run = [{ operation: "update", path: `${DOCS}/x.txt`, text: "again" }];
      world.strike({ url: "/items", times: "always" }, { run });
    },
  };
  for (const [doubt, act] of Object.entries(doubts)) {
    it(`declines when ${doubt}`, async () => {
      for (const name of ["A/a.txt", "B/b.txt", "Bin/c.txt"]) world.add(name);
      world.act("add-folder", { path: `${DOCS}/Empty` });
      world.act("delete", { path: `${DOCS}/Bin` });
      const look = await lookAt(world.open());
      await act(look);
      assert.equal(await since(look), undefined);
    });
  }

  it("declines a mark of another place, another filter, another time, or none", async () => {
    for (const name of ["A/a.txt", "B/b.txt"]) world.add(name);
    const look = await lookAt(world.open());
    const part = world.open({ urlPart: "/Shared Documents/A" });
    const filtered = world.open({ filter: "Id gt 0" });
    for (const source of [part, filtered]) assert.equal(await since({ ...look, source }), undefined);
    for (const mark of ["", "{", "[]", "{}", look.mark.replace('"version":2', '"version":1')]) {
      assert.equal(await since({ ...look, mark }), undefined);
    }
  });

  it("with a filter says only that nothing happened", async () => {
    world.add("a.txt");
    const look = await lookAt(world.open({ filter: "startswith(FileLeafRef,'a')" }));
    assert.deepEqual(told(await since(look), look), { touched: [], gone: [] });
    world.add("b.txt");
    assert.equal(await since(look), undefined);
  });
});
