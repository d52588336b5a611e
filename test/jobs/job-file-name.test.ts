// Names of job files are written and read back as specified.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JobId } from "../../src/contracts/ids.ts";
import { formatJobFileName, type JobFileName, parseJobFileName, toNamePart } from "../../src/jobs/job-file.ts";

const EXTENSIONS: readonly JobFileName["extension"][] = [
  "running",
  "paused",
  "completed",
  "cancelled",
  "pause_requested",
  "resume_requested",
  "cancel_requested",
];

test("names are those of the specification", () => {
  const name: JobFileName = {
    stamp: "2025-11-26_14-20-30",
    action: "crawl",
    jobId: "jb_42" as JobId,
    object: "TEST01",
    extension: "running",
  };
  assert.equal(formatJobFileName(name), "2025-11-26_14-20-30_[crawl]_[jb_42]_[TEST01].running");
  assert.equal(
    formatJobFileName({ ...name, action: "global_cleanup", object: "" }),
    "2025-11-26_14-20-30_[global_cleanup]_[jb_42].running",
  );
  assert.deepEqual(parseJobFileName("2025-11-26_14-20-30_[crawl]_[jb_42]_[TEST01].running"), name);
});

test("any name that is written is read back, whatever it is made of", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }),
      fc.string({ unit: "grapheme", maxLength: 200 }),
      fc.integer({ min: 1, max: 999_999_999 }),
      fc.constantFrom(...EXTENSIONS),
      (action, object, number, extension) => {
        const jobId = `jb_${number}` as JobId;
        const text = formatJobFileName({ stamp: "2025-11-26_14-20-30", action, jobId, object, extension });
        assert.ok(Buffer.byteLength(text) <= 255);
        assert.ok(!/[/\\:*?"<>|\p{Cc}]/u.test(text), text);
        assert.deepEqual(parseJobFileName(text), {
          stamp: "2025-11-26_14-20-30",
          action: toNamePart(action),
          jobId,
          object: object === "" ? "" : toNamePart(object),
          extension,
        });
      },
    ),
  );
});

test("other files are not taken for jobs", () => {
  for (const name of [
    "2025-11-26_14-20-30_[crawl]_[jb_0]_[X].running",
    "2025-11-26_14-20-30_[crawl]_[jb_42]_[X].running.tmp",
    "2025-11-26_14-20-30_[crawl]_[jb_42]_[X].log",
    "2025-11-26_14-20-30_[crawl]_[jb_42]_[a]_[b].running",
    "[jb_42].running",
    ".DS_Store",
  ]) {
    assert.equal(parseJobFileName(name), undefined, name);
  }
});
