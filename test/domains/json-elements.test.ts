import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { JsonElements } from "../../src/domains/json-elements.ts";

const values = fc.array(fc.jsonValue(), { maxLength: 8 });
const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

test("the elements are those that JSON.parse finds, however they are written", async () => {
  await fc.assert(
    fc.asyncProperty(values, space, fc.constantFrom(undefined, 1, "\t"), async (wanted, around, indent) => {
      const items = wanted.map((value) => JSON.stringify(value, null, indent));
      const text = `${around}[${around}${items.join(`${around},${around}`)}${around}]${around}`;
      const elements = await JsonElements.find(Buffer.from(text));
      assert.equal(elements.length, wanted.length);
      const found: unknown[] = [];
      await elements.visit((value) => found.push(value));
      assert.deepEqual(found, JSON.parse(text));
    }),
    { numRuns: 300 },
  );
});

test("edits change what they are about; the result is the array that is meant", async () => {
  const edits = fc.record({
    removed: fc.array(fc.nat(7)),
    replaced: fc.array(fc.tuple(fc.nat(7), fc.jsonValue())),
    added: values,
  });
  await fc.assert(
    fc.asyncProperty(values, edits, async (before, { removed, replaced, added }) => {
      const elements = await JsonElements.find(Buffer.from(JSON.stringify(before)));
      const [gone, others] = [new Set(removed), new Map(replaced)];
      const text = Buffer.concat([...elements.render({ removed: gone, replaced: others, added })]).toString();
      const meant = before.map((value, i) => (others.has(i) ? others.get(i) : value)).filter((_, i) => !gone.has(i));
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify([...meant, ...added])));
    }),
    { numRuns: 300 },
  );
});

test("written anew it looks as JSON.stringify would have it, however large", async () => {
  const before = Array.from({ length: 5000 }, (_, i) => ({ id: i, text: `"Ü${i}" \\ {[`.repeat(20) }));
  const elements = await JsonElements.find(Buffer.from(JSON.stringify(before, null, 2)));
  const removed = new Set(Array.from({ length: 500 }, (_, i) => i * 7));
  const text = Buffer.concat([...elements.render({ removed, added: [{ id: -1 }] })]).toString();
  const meant = [...before.filter((_, i) => !removed.has(i)), { id: -1 }];
  assert.equal(text, `${JSON.stringify(meant, null, 2)}\n`);
  const all = new Set(before.keys());
  assert.equal(
    Buffer.concat([...elements.render({ removed: all })])
      .toString()
      .trim(),
    "[]",
  );
});

for (const text of ["", " \n", "null", " null ", "[]", "[ ]"]) {
  test(`${JSON.stringify(text)} is an empty array`, async () => {
    assert.equal((await JsonElements.find(Buffer.from(text))).length, 0);
  });
}

for (const text of [
  "{}",
  "7",
  '"x"',
  "nul",
  "null x",
  "[",
  "[1",
  "[1,",
  "[1,]",
  "[,1]",
  "[1 2]",
  "[1]]",
  "[1] x",
  '["a]',
  '["a\\"]',
  "[{]",
  "[{]}]",
  '[{"a":1]',
  "[tru]",
  "[1,,2]",
]) {
  test(`'${text}' is no array`, async () => {
    await assert.rejects(async () => (await JsonElements.find(Buffer.from(text))).visit(() => undefined), {
      name: "BadInputError",
    });
  });
}
