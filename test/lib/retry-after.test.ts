// Retry-After is read as seconds, milliseconds or a date by the server's clock.
import assert from "node:assert/strict";
import { it } from "node:test";
import { readRetryAfterMs } from "../../src/lib/retry.ts";

it("Retry-After is read as seconds and as a date", () => {
  const nowMs = Date.parse("2026-11-16T10:00:00Z");
  const rows = [
    ["120", 120_000],
    [" 0 ", 0],
    ["1.5", 1500],
    ["Mon, 16 Nov 2026 10:01:00 GMT", 60_000],
    ["Monday, 16-Nov-26 10:01:00 GMT", 60_000],
    ["Mon, 16 Nov 2026 09:00:00 GMT", 0],
    ["9999999", 9_999_999_000],
    ["2026", 2_026_000],
    ["2026-11-16", undefined],
    ["-5", undefined],
    ["soon", undefined],
    ["", undefined],
    [undefined, undefined],
  ] as const;
  for (const [text, ms] of rows) assert.equal(readRetryAfterMs({ "retry-after": text }, nowMs), ms, text);
});

it("a date is meant by the server's clock, and milliseconds come before seconds", () => {
  const late = { "retry-after": "Mon, 16 Nov 2026 10:01:00 GMT", date: "Mon, 16 Nov 2026 10:00:50 GMT" };
  assert.equal(readRetryAfterMs(late, Date.parse("2026-11-16T12:00:00Z")), 10_000);
  assert.equal(readRetryAfterMs(new Headers({ "retry-after": "3", "retry-after-ms": "1500" })), 1500);
  assert.equal(readRetryAfterMs(new Map([["retry-after", "3"]])), 3000);
  assert.equal(readRetryAfterMs({ "retry-after": ["4", "5"] }), 4000);
});
