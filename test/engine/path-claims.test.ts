// No two items share a path of the mirror, whatever their names and moves.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import { PathClaims } from "../../src/engine/path-claims.ts";
import { fileTypeOf } from "../../src/lib/file-type.ts";
import { Mirror } from "../../src/mirror/mirror.ts";
import { Random } from "../stories/random.ts";

let crawler: string;
before(() => {
  crawler = mkdtempSync(join(tmpdir(), "lockstep-claims-"));
});
after(() => rmSync(crawler, { recursive: true, force: true }));

let count = 0;
const id = (text: string): ItemId => text as ItemId;

interface Item {
  readonly itemId: ItemId;
  readonly path: string;
  readonly documentType: string;
}

function item(itemId: ItemId, path: string): Item {
  return { itemId, path, documentType: fileTypeOf(path) };
}

/** A mirror and its items, whose files lie where they have them. */
class World {
  readonly mirror = new Mirror(crawler, `D/01_files/s${++count}`);
  readonly files = new Map<ItemId, string>();

  write(file: string): void {
    mkdirSync(dirname(this.mirror.absolute(file)), { recursive: true });
    writeFileSync(this.mirror.absolute(file), file);
  }

  async bothWays(): Promise<[byLedger: PathClaims, onDisk: PathClaims]> {
    const state = { observed: null, isCurrent: true, isListed: true };
    const rows = [...this.files].map(([itemId, file]) => ({ itemId, file, ...state }));
    const ledger = {
      async *states() {
        yield rows;
      },
    };
    return [await PathClaims.of(ledger, this.mirror), PathClaims.onDisk(this.mirror)];
  }
}

async function worldOf(files: Readonly<Record<string, string>>): Promise<World> {
  const world = new World();
  for (const [itemId, path] of Object.entries(files)) {
    world.files.set(id(itemId), world.mirror.embeddedFile(path));
    world.write(world.mirror.embeddedFile(path));
  }
  return world;
}

test("a path that another item has is marked, whatever the case of its name and the folder it lies in", async () => {
  const world = await worldOf({ one: "Docs/a.txt", two: "b.txt" });
  world.files.set(id("three"), `${world.mirror.root}/03_failed/docs/failed.txt`);
  world.write(`${world.mirror.root}/03_failed/docs/failed.txt`);
  for (const claims of await world.bothWays()) {
    assert.match(claims.claim(item(id("new"), "docs/A.TXT"), ""), /^docs\/A~[0-9a-f]{8}\.TXT$/);
    assert.match(claims.claim(item(id("other"), "DOCS/failed.txt"), ""), /^DOCS\/failed~[0-9a-f]{8}\.txt$/);
    assert.equal(claims.claim(item(id("third"), "docs/b.txt"), ""), "docs/b.txt");
  }
});

test("a file takes no folder's place, nor a folder a file's", async () => {
  const world = await worldOf({ one: "a/b.txt", two: "c" });
  for (const claims of await world.bothWays()) {
    assert.match(claims.claim(item(id("three"), "A"), ""), /^A~[0-9a-f]{8}$/);
    assert.match(claims.claim(item(id("four"), "c/d.txt"), ""), /^c~[0-9a-f]{8}\/d\.txt$/);
    // Where all that lay in the folder has left, a file may stand.
    claims.release(id("one"), world.mirror.embeddedFile("a/b.txt"));
    assert.equal(claims.claim(item(id("five"), "a"), ""), "a");
    assert.match(claims.claim(item(id("one"), "a/b.txt"), ""), /^a~[0-9a-f]{8}\/b\.txt$/);
  }
});

test("names that were swapped, or changed by case alone, are free for each other", async () => {
  const world = await worldOf({ one: "a.txt", two: "b.txt", three: "c.txt" });
  const file = (path: string): string => world.mirror.embeddedFile(path);
  for (const claims of await world.bothWays()) {
    assert.match(claims.claim(item(id("one"), "b.txt"), file("a.txt")), /^b~/);
    assert.equal(claims.claim(item(id("two"), "a.txt"), file("b.txt")), "a.txt");
    assert.deepEqual([...claims.nowFree()], [{ itemId: id("one"), wanted: "b.txt" }]);
    assert.equal(claims.isFree(file("a.txt")), false);
    assert.equal(claims.isFree(file("b.txt")), true);
    assert.equal(claims.isFree(file("c.txt")), false);
    assert.equal(claims.claim(item(id("three"), "C.txt"), file("c.txt")), "C.txt");
  }
});

test("who left a place has nothing to say about it when somebody else has taken it", async () => {
  const world = await worldOf({ one: "a.txt", two: "b.txt" });
  const file = (path: string): string => world.mirror.embeddedFile(path);
  for (const claims of await world.bothWays()) {
    claims.release(id("one"), file("a.txt"));
    assert.equal(claims.claim(item(id("two"), "a.txt"), file("b.txt")), "a.txt");
    assert.equal(claims.claim(item(id("one"), "c.txt"), file("a.txt")), "c.txt");
    assert.equal(claims.isFree(file("a.txt")), false);
    claims.giveBack(id("one"), file("c.txt"), file("a.txt"));
    assert.match(claims.claim(item(id("three"), "a.txt"), ""), /^a~/);
    assert.equal(claims.claim(item(id("three"), "c.txt"), file("b.txt")), "c.txt");
  }
});

test("of two that wait for a path, one gets it", async () => {
  const world = await worldOf({ one: "a.txt" });
  const file = (path: string): string => world.mirror.embeddedFile(path);
  for (const claims of await world.bothWays()) {
    const marked = new Map(
      [id("two"), id("three")].map((itemId) => [itemId, file(claims.claim(item(itemId, "a.txt"), ""))]),
    );
    claims.release(id("one"), file("a.txt"));
    const freed: ItemId[] = [];
    for (const { itemId, wanted } of claims.nowFree()) {
      claims.transfer(itemId, marked.get(itemId) ?? "", wanted);
      freed.push(itemId);
    }
    assert.deepEqual(freed, [id("two")]);
  }
});

const FOLDERS = ["", "a/", "A/", "a/b/", "b/", "é/", "e\u0301/", "CON/", `${"x".repeat(250)}/`];
const NAMES = ["a", "A", "b", "b.txt", "B.TXT", "a.txt", "é", "e\u0301", "nul.txt", "c.", `${"y".repeat(250)}.txt`];

function somePath(random: Random): string {
  return `${random.pick(FOLDERS)}${random.pick(NAMES)}`;
}

/** Two ways to know who has what, asked the same questions. */
class SameAnswers {
  readonly #ways: readonly PathClaims[];

  constructor(ways: readonly PathClaims[]) {
    this.#ways = ways;
  }

  ask<T>(question: (claims: PathClaims) => T): T {
    const [one, other] = this.#ways.map(question);
    assert.deepEqual(other, one);
    return one as T;
  }
}

/** A plan as it is applied: some leave, some move, some are fetched to where they are now, twice when it failed. */
async function applyRandomPlan(world: World, random: Random): Promise<void> {
  const { mirror, files } = world;
  const claims = new SameAnswers(await world.bothWays());
  const fileOf = (itemId: ItemId): string => files.get(itemId) ?? "";
  const items = [...files.keys()];
  const fate = new Map(items.map((itemId) => [itemId, random.below(6)]));
  const those = (which: number): ItemId[] => items.filter((itemId) => fate.get(itemId) === which);
  for (const itemId of those(0)) {
    await mirror.remove(fileOf(itemId));
    claims.ask((way) => way.release(itemId, fileOf(itemId)));
    files.delete(itemId);
  }
  const moved = those(1);
  for (const itemId of moved) claims.ask((way) => way.release(itemId, fileOf(itemId)));
  const places = moved.map((itemId) => {
    const now = item(itemId, somePath(random));
    return {
      itemId,
      to: mirror.beside(
        fileOf(itemId),
        claims.ask((way) => way.claim(now, "")),
      ),
    };
  });
  for (const { itemId } of places) await mirror.moveOut(itemId, fileOf(itemId));
  for (const { itemId, to } of places) {
    await mirror.moveIn(itemId, to);
    files.set(itemId, to);
  }
  const fetched = [...those(2), ...Array.from({ length: random.below(8) }, () => id(`new ${random.next()}`))];
  const vacated: string[] = [];
  for (const itemId of fetched) {
    const before = fileOf(itemId);
    const now = item(itemId, before && random.chance(0.3) ? mirror.relativePath(before) : somePath(random));
    const path = claims.ask((way) => way.claim(now, before));
    if (random.chance(0.2))
      assert.equal(
        claims.ask((way) => way.claim(now, before)),
        path,
      );
    const file = mirror.embeddedFile(path);
    try {
      world.write(file);
    } catch {
      // A file that is about to leave stands where a folder is needed.
      claims.ask((way) => way.giveBack(itemId, file, before));
      continue;
    }
    if (before && before !== file) vacated.push(before);
    files.set(itemId, file);
  }
  for (const file of vacated) if (claims.ask((way) => way.isFree(file))) await mirror.remove(file);
  for (let next = claims.ask(firstFree); next; next = claims.ask(firstFree)) {
    const { itemId, wanted } = next;
    const [from, to] = [fileOf(itemId), mirror.beside(fileOf(itemId), wanted)];
    await mirror.moveOut(itemId, from);
    await mirror.moveIn(itemId, to);
    claims.ask((way) => way.transfer(itemId, from, wanted));
    files.set(itemId, to);
  }
}

function firstFree(claims: PathClaims): { readonly itemId: ItemId; readonly wanted: string } | undefined {
  const [first] = claims.nowFree();
  return first;
}

/** What the next check of the mirror does. */
async function removeOrphans({ mirror, files }: World): Promise<void> {
  const known = new Set(files.values());
  for (const file of (await mirror.scan()).keys()) if (!known.has(file)) await mirror.remove(file);
}

for (let seed = 1; seed <= 40; seed++) {
  test(`random plans, seed ${seed}: the ledger and the disk tell the same, and no two items share a place`, async () => {
    const random = new Random(seed);
    const world = await worldOf({});
    for (let round = 0; round < 12; round++) {
      await applyRandomPlan(world, random);
      await removeOrphans(world);
      assert.deepEqual(new Set((await world.mirror.scan()).keys()), new Set(world.files.values()));
      const places = [...world.files.values()].map((file) => world.mirror.relativePath(file).toLowerCase());
      assert.equal(new Set(places).size, places.length);
    }
  });
}
