// Any fields survive being written as CSV and read back.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeCsvRow, encodeCsvRow } from "../../src/lib/csv.ts";

test("any fields survive a row", () => {
  const field = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom('"', '""', ",", "a,b", "\r\n", ' "x" ', "=1+1"),
  );
  fc.assert(
    fc.property(fc.array(field, { minLength: 1, maxLength: 6 }), (fields) => {
      assert.deepEqual(decodeCsvRow(encodeCsvRow(fields)), fields);
    }),
  );
});

test("only what must be quoted is quoted", () => {
  assert.equal(
    encodeCsvRow(["a b", "it's", "x,y", 'say "hi"', "", "=SUM(A1)"]),
    `a b,it's,"x,y","say ""hi""",,=SUM(A1)`,
  );
});
