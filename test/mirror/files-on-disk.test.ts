// The set of files on disk behaves like a map.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FilesOnDisk } from "../../src/mirror/files-on-disk.ts";
import type { FileOnDisk } from "../../src/mirror/scan-files.ts";
import { Random } from "../stories/random.ts";

const COUNT = 700;
const pathOf = (n: number): string => `D/05_folders/s/02_embedded/f${n % 2 === 0 ? 0 : n % 7}/${n}.txt`;
const fileOf = (n: number): FileOnDisk => ({ size: n, mtimeMs: n + 0.5, placedAtMs: n * 2 });

function filled(): { files: FilesOnDisk; model: Map<string, FileOnDisk> } {
  const [files, model] = [new FilesOnDisk(), new Map<string, FileOnDisk>()];
  for (let n = 0; n < COUNT; n++) {
    const { size, mtimeMs, placedAtMs } = fileOf(n);
    files.add(pathOf(n), size, mtimeMs, placedAtMs);
    model.set(pathOf(n), fileOf(n));
  }
  return { files, model };
}

test("files are found in whichever order they are asked for", () => {
  const inOrder = [...Array(COUNT).keys()];
  const late = inOrder.filter((n) => n % 9 === 0);
  const orders = [inOrder, inOrder.toReversed(), [...inOrder.filter((n) => n % 9 !== 0), ...late], inOrder.slice(50)];
  for (const order of orders) {
    const { files } = filled();
    for (const round of [1, 2]) {
      for (const n of order) {
        assert.equal(files.has(pathOf(n)), true, `round ${round}`);
        assert.deepEqual(files.get(pathOf(n)), fileOf(n), `round ${round}`);
        assert.equal(files.get(`${pathOf(n)}x`), undefined);
      }
      assert.equal(files.has(""), false);
    }
  }
});

test("it is what a map would be, whatever is done to it", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = new Random(seed);
    const { files, model } = filled();
    const changed = new Set<string>();
    for (let step = 0; step < 300; step++) {
      const n = random.chance(0.5) ? step % COUNT : random.below(COUNT + 20);
      const path = pathOf(n);
      const chance = random.next();
      if (chance < 0.1) {
        changed.add(path);
        files.delete(path);
        model.delete(path);
      } else if (chance < 0.2) {
        changed.add(path);
        files.set(path, fileOf(n + step));
        model.set(path, fileOf(n + step));
      }
      assert.deepEqual(files.get(path), model.get(path), `seed ${seed}, step ${step}`);
      assert.equal(files.has(pathOf(step)), model.has(pathOf(step)));
      assert.equal(files.size, model.size);
    }
    assert.deepEqual(new Map(files), model);
    assert.deepEqual(new Set(files.keys()), new Set(model.keys()));
    assert.equal([...files.values()].length, model.size);
    assert.deepEqual(files.changed, changed);
  }
});
