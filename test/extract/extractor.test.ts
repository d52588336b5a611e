import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { createExtractor } from "../../src/extract/extractor.ts";
import { extractFile } from "./extract-file.ts";
import { listItem, makeDocx, paragraph, styled, table } from "./make-docx.ts";
import { makePdf } from "./make-pdf.ts";

const signal = new AbortController().signal;

test("types are what can be read, and nothing else is tried", async () => {
  const { types } = createExtractor();
  for (const type of ["txt", "md", "html", "htm", "docx", "pdf", "json", "py", "tex"]) assert.ok(types.has(type), type);
  for (const type of ["pptx", "xlsx", "doc", "png", "exe", ""]) {
    assert.ok(!types.has(type), type);
    const refused = { name: "ExtractError", code: "unsupported_file" };
    await assert.rejects(extractFile(type, "text"), refused);
  }
  assert.equal((await extractFile("TXT", "text")).markdown, "text");
});

test("an empty file is refused whatever its type", async () => {
  for (const type of createExtractor().types) {
    const refused = { name: "ExtractError", code: "invalid_file", message: "The file is empty." };
    await assert.rejects(extractFile(type, ""), refused);
  }
});

test("blank files have no text", async () => {
  for (const type of ["txt", "md", "html", "py"]) {
    await assert.rejects(extractFile(type, " \n\t\n"), { name: "ExtractError", message: /no text/ });
  }
});

test("too large is said with the limit", async () => {
  const megabyte = 1024 * 1024;
  const text = "x".repeat(megabyte + 1);
  const refused = { name: "ExtractError", code: "invalid_file", message: /too large.*limit is 1 MB/ };
  await assert.rejects(extractFile("txt", text, { maxTextBytes: megabyte }), refused);
  await assert.rejects(extractFile("pdf", text, { maxBytes: megabyte }), refused);
  assert.equal((await extractFile("txt", text)).markdown.length, text.length);
});

test("a missing file is trouble of ours, not of the document", async () => {
  const missing = join(import.meta.dirname, "no-such-file.txt");
  await assert.rejects(createExtractor().extract(missing, "txt", signal), { code: "ENOENT" });
});

test("time is limited", async () => {
  // Not an ExtractError: that would be a verdict on the file.
  const late = { name: "Error", message: /longer than/ };
  for (const [type, bytes] of samples()) await assert.rejects(extractFile(type, bytes, { timeoutMs: -1 }), late);
});

test("files are read one after the other, and the clock of each starts with its turn", async (t) => {
  const { long, texts } = await writeQueue(t);
  // A clock on which every look takes a second: the pages of the long file take minutes, a text a few seconds.
  let nowMs = 0;
  t.mock.method(performance, "now", () => {
    nowMs += 1000;
    return nowMs;
  });
  const ended: string[] = [];
  const patient = createExtractor({ timeoutMs: 10_000_000 });
  const hasty = createExtractor({ timeoutMs: 60_000 });
  await Promise.all([
    patient.extract(long, "pdf", signal).then(() => ended.push("long")),
    ...texts.map(async (path) => ended.push((await hasty.extract(path, "txt", signal)).markdown)),
  ]);
  assert.ok(nowMs > 100_000);
  assert.deepEqual(ended, ["long", "a", "b", "c"]);
});

test("a file that fails, or is given up while it waits, does not hold up the others", async (t) => {
  const { long, texts } = await writeQueue(t);
  const [unreadable = "", waiting = "", last = ""] = texts;
  const controller = new AbortController();
  const reason = new Error("stop now");
  const { extract } = createExtractor();
  const ended: string[] = [];
  const outcomes = Promise.all([
    extract(long, "pdf", signal).then(() => ended.push("long")),
    assert.rejects(extract(unreadable, "docx", signal), { name: "ExtractError" }).then(() => ended.push("unreadable")),
    assert.rejects(extract(waiting, "txt", controller.signal), reason).then(() => ended.push("given up")),
    extract(last, "txt", signal).then(() => ended.push("last")),
  ]);
  controller.abort(reason);
  await outcomes;
  assert.deepEqual(ended, ["given up", "long", "unreadable", "last"]);
});

test("too many elements are refused before anything is built from them", async () => {
  const refused = { name: "ExtractError", code: "invalid_file", message: /too complex: .* more than 400000 elements/ };
  await assert.rejects(extractFile("html", "<b>x</b>".repeat(400_001)), refused);
  await assert.rejects(extractFile("docx", makeDocx({ body: `${"<w:p/>".repeat(400_001)}` })), refused);
  const few = { maxElements: 100 };
  assert.equal((await extractFile("html", `${"<p>".repeat(100)}x</p> 1 < 2`, few)).markdown, "x\n\n1 < 2");
  await assert.rejects(extractFile("html", `${"<p>".repeat(101)}x`, few), { message: /more than 100 elements/ });
});

test("an abort is passed on as it is", async () => {
  const reason = new Error("stop now");
  await assert.rejects(extractFile("html", "<p>x", { signal: AbortSignal.abort(reason) }), reason);
  for (const [type, bytes] of [...samples()].filter(([type]) => ["html", "docx", "pdf"].includes(type))) {
    const controller = new AbortController();
    const extraction = extractFile(type, bytes, { signal: controller.signal });
    controller.abort(reason);
    await assert.rejects(extraction, (error: unknown) => error === reason || (error as Error).name === "AbortError");
  }
});

test("the revision changes with the text that known files give", async () => {
  const hash = createHash("sha256");
  for (const [type, bytes] of samples()) hash.update(JSON.stringify(await extractFile(type, bytes)));
  // When this fails, extraction gives other text than before: raise the revision and write both here.
  assert.deepEqual([createExtractor().revision, hash.digest("hex").slice(0, 16)], ["1", "dc117d01a8e59dd4"]);
});

/** A file that takes many turns of the event loop, and three that take few. */
async function writeQueue(t: TestContext): Promise<{ long: string; texts: string[] }> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-extract-"));
  t.after(() => rm(folder, { recursive: true }));
  const long = join(folder, "long");
  const pages = Array.from({ length: 60 }, (_, page) => [{ text: `Page ${page}`, y: 700 }]);
  await writeFile(long, makePdf({ pages }));
  const texts = ["a", "b", "c"].map((text) => join(folder, text));
  for (const path of texts) await writeFile(path, basename(path));
  return { long, texts };
}

function samples(): Map<string, string | Buffer> {
  const page = `<title>T</title><nav>n</nav><h1>A</h1><p>a <a href="/x">b</a> &auml;<ul><li>1<ul><li>2</ul></ul>
<table><tr><th>a<th>b<tr><td rowspan=2>1<td>2<tr><td>3</table><pre>x  y</pre><blockquote>q</blockquote># no`;
  const body = [
    styled("Titel", "T"),
    styled("berschrift1", "H"),
    paragraph("text"),
    listItem(0, "a"),
    listItem(1, "b"),
    table([
      ["1", "2"],
      ["3", "4"],
    ]),
  ].join("");
  const lines = ["A paragraph that is di-", "vided.", "• item", "Last line"].map((text, at) => ({
    text: text.replace("•", "-"),
    y: 700 - 14 * at,
  }));
  return new Map<string, string | Buffer>([
    ["txt", "Gr\u00fc\u00dfe\r\n\r\nZeile"],
    ["py", "# x\nprint(1)\n"],
    ["md", "---\ntitle: M\n---\n# H\ntext"],
    ["html", page],
    ["docx", makeDocx({ body, title: "P" })],
    ["pdf", makePdf({ pages: [[{ text: "Title", y: 780, size: 20 }, ...lines], lines] })],
  ]);
}
