// Bytes that were read to be hashed are fetched once without another read.
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Listed, Sighting, Source } from "../../src/contracts/source.ts";
import { LocalDevices } from "../../src/sources/folder/local-devices.ts";
import { ReadCache } from "../../src/sources/tree/read-files.ts";
import { TreeWorld } from "./tree-world.ts";

const never = new AbortController().signal;

let world: TreeWorld;
beforeEach(async () => {
  world = await TreeWorld.open();
});
afterEach(() => world.close());

async function list(source: Source): Promise<Map<string, Sighting>> {
  const listed: Listed[] = [];
  for await (const page of source.list(never)) listed.push(...page);
  return new Map(listed.filter((each) => each.kind === "sighting").map((each) => [each.path, each]));
}

async function fetchText(source: Source, item: Sighting | undefined): Promise<string> {
  const fetched = await source.fetch(item ?? assert.fail("it was not listed"), never);
  if (fetched.status !== "fetched") return fetched.status;
  const chunks: Uint8Array[] = [];
  for await (const chunk of fetched.body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe("a file that was read to be hashed", () => {
  it("is fetched once without reading it again, as it was hashed", async () => {
    await world.write("small.md", "small");
    await world.write("large.md", "large ".repeat(20_000));
    const source = world.openSource();
    const items = await list(source);
    world.reads.length = 0;
    await world.write("small.md", "not so small");
    assert.equal(await fetchText(source, items.get("small.md")), "small");
    assert.equal((await fetchText(source, items.get("large.md"))).length, 120_000);
    assert.deepEqual(world.reads, ["large.md"]);
    await assert.rejects(fetchText(source, items.get("small.md")), /changed since it was listed/);
    await source.close?.();
    assert.deepEqual((await world.look()).sightings.map(({ path }) => path).sort(), ["large.md", "small.md"]);
    assert.deepEqual(world.reads, ["small.md"], "the edit is seen by the next look");
  });

  it("is never taken for another version of its item", async () => {
    await world.write("a.md", "first");
    const stale = (await world.look()).sightings[0] ?? assert.fail();
    await world.write("a.md", "second");
    await world.write("copy.md", "first");
    const source = world.openSource();
    await list(source);
    assert.equal(await fetchText(source, stale), "second");
    await source.close?.();
  });
});

it("bytes are kept as long as there is room, and taken once", () => {
  const kept = new ReadCache();
  const piece = Buffer.alloc(60 * 1024);
  for (let i = 0; i < 1000; i++) kept.put(`hash ${i}`, piece);
  const held = Array.from({ length: 1000 }, (_, i) => i).filter((i) => kept.take(`hash ${i}`));
  assert.ok(held.length > 50 && held.length * piece.byteLength <= 8 * 1024 * 1024, `${held.length} were kept`);
  assert.equal(kept.take("hash 0"), undefined);
  kept.put("again", piece);
  assert.equal(kept.take("again"), piece, "what was taken made room");
});

it("a file is on a disk of this machine if the very folder it lies in was found there", () => {
  const devices = new LocalDevices();
  assert.equal(devices.holds("/root/a.md"), false);
  devices.note("/root", { isLocal: true });
  assert.deepEqual(
    ["/root/a.md", "/root/share/a.md", "/a.md"].map((file) => devices.holds(file)),
    [true, false, false],
  );
  devices.note("/root", { isLocal: false });
  assert.equal(devices.holds("/root/a.md"), false);
});
