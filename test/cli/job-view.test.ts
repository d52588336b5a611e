// The progress of a job fits the terminal, and is plain lines in a pipe.
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { showJob } from "../../src/cli/job-view.ts";
import { showAnswer } from "../../src/cli/show-answer.ts";
import { cutToWidth, textWidth } from "../../src/cli/terminal-text.ts";
import { encodeSseEvent } from "../../src/lib/sse.ts";

async function shown(terminal: boolean, lines: readonly string[], columns = 60): Promise<string> {
  const written: string[] = [];
  const stream = { isTTY: terminal, columns, write: (text: string) => written.push(text) > 0 };
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

test("a bar never fills its line, however wide the characters and narrow the terminal", async () => {
  const name = "カーゴバイク市場調査 2026 👩‍👩‍👧 Größe.pdf";
  for (const columns of [30, 50, 60, 79, 80]) {
    const out = await shown(true, [`[ 29 / 29 ] Indexing 'Sales/${name}'`], columns);
    const bar = out.replaceAll("\r\u001b[2K", "");
    assert.match(bar, /^█+ 100 %/);
    assert.ok(textWidth(`${bar}^C`) < columns, `${textWidth(bar)} of ${columns}: ${bar}`);
    assert.ok(out.endsWith("\r\u001b[2K"), "the bar is cleared at the end");
  }
});

test("a bar is cleared when the stream breaks off", async () => {
  const written: string[] = [];
  const stream = { isTTY: true, columns: 60, write: (text: string) => written.push(text) > 0 };
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(encodeSseEvent({ id: "1", event: "log", data: "[ 1 / 2 ] Downloaded 'a.txt'" }));
    throw new Error("the line broke");
  }
  await assert.rejects(showJob(broken(), stream as unknown as NodeJS.WriteStream), /the line broke/);
  assert.equal(written.at(-1), "\r\u001b[2K");
});

test("columns are counted as a terminal shows them", () => {
  const widths: [string, number][] = [
    ["abc", 3],
    ["Größe", 5],
    ["Gro\u0308ße", 5],
    ["市場", 4],
    ["ー", 2],
    ["한국", 4],
    ["👩‍👩‍👧", 2],
    ["❤️", 2],
    ["", 0],
  ];
  for (const [text, width] of widths) assert.equal(textWidth(text), width, text);
  assert.equal(cutToWidth("a市場", 4), "a市");
  assert.equal(cutToWidth("a👩‍👩‍👧b", 2), "a");
  assert.equal(cutToWidth("abc", 3), "abc");
});

test("passages are wrapped to the terminal, also where nobody writes blanks", () => {
  const stream = Object.assign(new PassThrough(), { columns: 40 });
  const text = `Summary ${"市場調査".repeat(20)} and the end`;
  const passage = { name: "a.md", url: "", sectionPath: "", score: 0.5, text };
  showAnswer([passage], stream as unknown as NodeJS.WriteStream);
  const lines = String(stream.read()).split("\n");
  for (const line of lines) assert.ok(textWidth(line) < 40, line);
  assert.equal(lines.join("").replaceAll(" ", "").includes("市場調査".repeat(20)), true);
});

test("on a terminal steps move a bar, errors and other lines stay", async () => {
  const out = await shown(true, lines);
  assert.match(out, /█{15}░{15} {2}50 % {2}1\/2/);
  const stays = out.split("\n").map((line) => line.split("\r\u001b[2K").at(-1));
  assert.deepEqual(stays, ["Listed 2 items.", "[ 2 / 2 ] ERROR: download 'b.txt': no", "Done.", ""]);
});
