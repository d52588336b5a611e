import assert from "node:assert/strict";
import { test } from "node:test";
import { showJob } from "../../src/cli/job-view.ts";
import { encodeSseEvent } from "../../src/lib/sse.ts";

async function shown(terminal: boolean, lines: readonly string[]): Promise<string> {
  const written: string[] = [];
  const stream = { isTTY: terminal, columns: 60, write: (text: string) => written.push(text) > 0 };
  async function* events(): AsyncGenerator<Uint8Array> {
    const bytes = Buffer.from(lines.map((data, i) => encodeSseEvent({ id: String(i), event: "log", data })).join(""));
    // Cut at awkward places: in the middle of events and characters.
    for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
  }
  await showJob(events(), stream as unknown as NodeJS.WriteStream);
  return written.join("");
}

const lines = [
  "Listed 2 items.",
  "[ 1 / 2 ] Downloaded 'Größe 😀.txt'",
  "[ 2 / 2 ] ERROR: download 'b.txt': no",
  "Done.",
];

test("in a pipe every line is printed as it is", async () => {
  assert.equal(await shown(false, lines), `${lines.join("\n")}\n`);
});

test("on a terminal steps move a bar, errors and other lines stay", async () => {
  const out = await shown(true, lines);
  assert.match(out, /█{15}░{15} {2}50 % {2}1\/2/);
  const stays = out.split("\n").map((line) => line.split("\r\u001b[2K").at(-1));
  assert.deepEqual(stays, ["Listed 2 items.", "[ 2 / 2 ] ERROR: download 'b.txt': no", "Done.", ""]);
});
