// Globs mean what they mean elsewhere, and no name takes long to match.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import picomatch from "picomatch";
import { matchGlob } from "../../src/lib/glob.ts";

const MET: readonly [glob: string, met: readonly string[], unmet: readonly string[]][] = [
  ["*.md", ["a.md", ".md", "a b.md", "line\nfeed.md"], ["a/b.md", "a.mdx", ""]],
  ["a/**", ["a", "a/b", "a/b/c"], ["ab", "b/a", "ab/c"]],
  ["**/drafts/*", ["drafts/a", "x/y/drafts/a"], ["drafts", "drafts/", "drafts/a/b", "xdrafts/a"]],
  ["*/**", ["a/b", "a/b/c"], ["a"]],
  ["/guide/*", ["/guide/intro", "/guide/intro/"], ["/guide", "/guide/a/b", "guide/a"]],
  ["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]],
  ["**", ["a", "a/b"], []],
  ["v[0-9]+/?.{txt,md}", ["v1/a.md", "v20/b.txt"], ["v/a.md", "v1/ab.md", "vx/a.md"]],
  ["report [final].pdf", ["report [final].pdf", "report f.pdf"], ["report final.pdf"]],
  ["[!a-c]x[]", ["dx[]"], ["ax[]", "/x[]"]],
  ["!(a|b*).md", ["c.md", "ab.md"], ["a.md", "bee.md"]],
  ["+(ab|c)", ["ab", "cab", "abcab"], ["", "a", "abd"]],
  ["x?(y)*(z)@(1|2)", ["x1", "xy2", "xzz1", "xyz2"], ["x", "xyy1"]],
  ["(en|de)/{a..c}", ["en/a", "de/c"], ["fr/a", "en/d"]],
  ["\\*.{a}(", ["*.{a}("], ["b.{a}("]],
  ["!/a/**", ["/b"], ["/a/b", "/a"]],
];

describe("globs", () => {
  for (const [glob, met, unmet] of MET) {
    it(glob, () => {
      const isMet = matchGlob(glob);
      assert.deepEqual([met.filter((path) => !isMet(path)), unmet.filter(isMet)], [[], []]);
    });
  }

  it("mean what they mean elsewhere", () => {
    const part = fc.string({ unit: fc.constantFrom("a", "b", "*", "?", ".", "{a,bb}", "[a-b]", "[^a]"), minLength: 1 });
    const parts = fc.oneof(
      { weight: 3, arbitrary: part.filter((text) => !/\*\*|^\.+$/.test(text)) },
      fc.constant("**"),
    );
    const globs = fc.array(parts, { minLength: 1, maxLength: 4 }).filter((all) => !/\*\*,\*\*/.test(all.join()));
    const name = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });
    const paths = fc.array(name, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(globs, paths, (glob, path) => {
        const [written, place] = [glob.join("/"), path.join("/")];
        assert.equal(matchGlob(written)(place), picomatch(written, { dot: true })(place), `${written} on ${place}`);
      }),
      { numRuns: 3000 },
    );
  });

  // With regular expressions, each of these takes hours.
  it("no name takes long", () => {
    const long = "a".repeat(1000);
    for (const glob of ["*a*a*a*a*a*a*b", "+(a|aa)b", "+(+(+(a)))b", "!(*a*)b", `${"?(a)".repeat(50)}b`]) {
      assert.equal(matchGlob(glob)(long), false, glob);
    }
    assert.equal(matchGlob("**/a/**/a/**/a/**/a/**/b")("a/".repeat(500)), false);
  });
});
