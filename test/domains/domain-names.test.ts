// Names and descriptions of domains are kept recognisable, in any script.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseDomainInput } from "../kinds.ts";

const DEMO = { domain_id: "DEMO", name: "Demo" };

describe("names that people have to recognise a domain by", () => {
  const DECEIVING = [
    ["two\nlines", "a line end"],
    ["bell\u0007", "a control character"],
    ["next\u0085line", "a control character of the upper half"],
    ["para\u2029graph", "a paragraph end"],
    ["stneilc \u202eclients", "an override of direction"],
    ["\u2067isolated\u2069", "an isolate"],
  ] as const;
  for (const [name, what] of DECEIVING) {
    for (const field of ["name", "vector_store_name"]) {
      it(`${field} with ${what} is refused`, () => {
        const said = new RegExp(`^BadInputError: '${field}' must be one line of visible characters`);
        assert.throws(() => parseDomainInput({ ...DEMO, [field]: name }), said);
        assert.throws(() => parseDomainInput({ [field]: name }, parseDomainInput(DEMO)), said);
      });
    }
  }

  it("may be in any script, and what stands around them is cut off", () => {
    for (const name of ["Ünïcode 日本", "שלום", "تقرير", "Ada’s \u{1f9ea}"]) {
      assert.equal(parseDomainInput({ ...DEMO, name: ` ${name}\r\n` }).name, name);
    }
  });

  it("descriptions have lines, and no other control characters", () => {
    assert.equal(parseDomainInput({ ...DEMO, description: "one\r\n\ttwo" }).description, "one\r\n\ttwo");
    assert.throws(
      () => parseDomainInput({ ...DEMO, description: "a\u001b[31mb" }),
      /^BadInputError: 'description' must be text without control characters/,
    );
  });

  it("one that was named so before can still be changed in other ways", () => {
    const existing = { ...parseDomainInput(DEMO), name: "old\u202ename" };
    assert.equal(parseDomainInput({ description: "x" }, existing).description, "x");
  });
});
