// Server-sent events are written and read back, whatever text they hold.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { encodeSseEvent, parseSseEvents } from "../../src/lib/sse.ts";

test("several lines become several data lines", () => {
  assert.equal(
    encodeSseEvent({ id: "7", event: "log", data: "one\ntwo\r\nthree\rfour" }),
    "event: log\nid: 7\ndata: one\ndata: two\ndata: three\ndata: four\n\n",
  );
});

test("no text breaks out of its event", () => {
  const hostile = fc.oneof(
    fc.string({ unit: "binary" }),
    fc
      .array(
        fc.constantFrom("\r", "\n", "\0", "\u001b[2J", "event: end_json", "id: 99", "data:", ": ", " ", "\ud800", "ü"),
      )
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(hostile, hostile, (data, next) => {
      const bytes = Buffer.from(
        encodeSseEvent({ id: "1", event: "log", data }) + encodeSseEvent({ id: "2", event: "log", data: next }),
      ).toString();
      const events = parseSseEvents(bytes);
      assert.deepEqual(
        events.map(({ id, event }) => [id, event]),
        [
          ["1", "log"],
          ["2", "log"],
        ],
      );
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not get through
      assert.ok(!/[\u0000-\u0008\u000b-\u001f\u007f]/.test(bytes));
    }),
    { numRuns: 500 },
  );
});

test("what has no control characters comes back as it was, line ends unified", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const [event] = parseSseEvents(encodeSseEvent({ id: "1", event: "log", data: text }));
      assert.equal(event?.data, text.replaceAll(/\r\n|\r/g, "\n"));
    }),
  );
});

test("an unfinished last event is left out, wherever it breaks off", () => {
  const first = encodeSseEvent({ id: "1", event: "log", data: "whole" });
  const second = encodeSseEvent({ id: "2", event: "end_json", data: '{"a":\n1}' });
  for (let length = 0; length < second.length; length++) {
    assert.deepEqual(
      parseSseEvents(first + second.slice(0, length)).map(({ id }) => id),
      ["1"],
      `cut after ${length}`,
    );
  }
  assert.equal(parseSseEvents(first + second).length, 2);
});

test("streams of other writers are read: CRLF, comments, no space after the colon, no id", () => {
  assert.deepEqual(parseSseEvents(": hello\r\nevent:log\r\ndata:a\r\ndata: b\r\n\r\n: ping\r\n\r\ndata\r\n\r\n"), [
    { id: "", event: "log", data: "a\nb", comment: "hello" },
    { id: "", event: "message", data: "" },
  ]);
});
