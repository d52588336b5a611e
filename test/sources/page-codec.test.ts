// What is published of a page is derived from its versions.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeColumns, decodePublishedItemVersion } from "../../src/sources/sharepoint/pages/page-codec.ts";
import { decodePublishedFileVersion, publicationOf } from "../../src/sources/sharepoint/published-version.ts";

describe("what is published of a page", () => {
  const cases: readonly [what: string, file: unknown, expected: ReturnType<typeof publicationOf>][] = [
    ["1.0", { UIVersion: 512, Level: 1 }, "published"],
    ["7.0", { UIVersion: 3584, Level: 1 }, "published"],
    ["0.1", { UIVersion: 1, Level: 2 }, "never published"],
    ["0.511", { UIVersion: 511, Level: 2 }, "never published"],
    ["1.1", { UIVersion: 513, Level: 2 }, "draft over a published version"],
    ["1.1, whatever its level says", { UIVersion: 513, Level: 1 }, "draft over a published version"],
    ["1.0 that nobody has approved", { UIVersion: 512, Level: 2 }, "never published"],
    ["2.0 that nobody has approved", { UIVersion: 1024, Level: 2 }, "draft over a published version"],
    ["2.0 somebody has checked out", { UIVersion: 1024, Level: 255 }, "draft over a published version"],
    ["a row without versions", {}, "published"],
    ["a row without a file", null, "published"],
  ];
  for (const [what, file, expected] of cases) {
    it(`${what}: ${expected}`, () => assert.equal(publicationOf({ File: file }), expected));
  }

  it("is the newest major version that is not the current one", () => {
    const versions = [1025, 1024, 513, 512].map((VersionId) => ({ VersionId, IsCurrentVersion: VersionId === 1025 }));
    assert.equal(decodePublishedItemVersion({ value: versions }), 1024);
    const waiting = [
      { VersionId: 1024, IsCurrentVersion: true },
      { VersionId: 512, IsCurrentVersion: false },
    ];
    assert.equal(decodePublishedItemVersion({ value: waiting }), 512, "2.0 waits for approval");
    assert.equal(decodePublishedItemVersion({ value: [{ VersionId: 513 }, null, 7] }), undefined);
    assert.throws(() => decodePublishedItemVersion({}), /not a list of versions/);
  });

  it("has size and time of its own", () => {
    const old = { ID: 512, Created: "2024-01-02T03:04:05Z", Length: "18898", VersionLabel: "1.0" };
    const expected = { version: 512, size: 18898, modifiedAt: "2024-01-02T03:04:05.000000Z" };
    assert.deepEqual(decodePublishedFileVersion({ value: [old, { ...old, ID: 513 }] }), expected);
    const { Length: _, ...older } = old;
    assert.equal(decodePublishedFileVersion({ value: [{ ...older, Size: 5 }] })?.size, 5);
    assert.throws(
      () => decodePublishedFileVersion({ value: [{ ...old, Created: "yesterday" }] }),
      /does not tell its time/,
    );
  });

  it("is asked for in columns that are there", () => {
    const fields = ["Title", "CanvasContent1", "OData__SPSitePageFlags"].map((EntityPropertyName) => ({
      EntityPropertyName,
    }));
    assert.deepEqual(decodeColumns({ value: [...fields, null] }), {
      listing: ["OData__SPSitePageFlags"],
      texts: ["Title", "CanvasContent1"],
    });
    assert.throws(() => decodeColumns({ value: "no" }), /not a list of columns/);
  });
});
