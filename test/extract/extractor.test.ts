// The extractor reads what it knows, refuses the rest in sentences, and passes aborts on.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { AlteredError, ExtractError } from "../../src/contracts/document.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { extractFile } from "./extract-file.ts";
import { listItem, makeDocx, paragraph, styled, table } from "./make-docx.ts";
import { makeMsg } from "./make-msg.ts";
import { makePdf } from "./make-pdf.ts";
import { makePptx, shape } from "./make-pptx.ts";
import { makeXlsx } from "./make-xlsx.ts";

const signal = new AbortController().signal;

test("types are what can be read, and nothing else is tried", async () => {
  const { types } = createExtractor();
  for (const type of ["txt", "md", "html", "docx", "pptx", "xlsx", "csv", "pdf", "rtf", "eml", "msg", "json", "py"])
    assert.ok(types.has(type), type);
  for (const type of ["doc", "xls", "png", "exe", ""]) {
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
  for (const type of ["txt", "pdf"]) {
    await assert.rejects(createExtractor().extract(missing, type, signal), { name: "Error", code: "ENOENT" });
  }
});

test("bytes that do not have the expected hash are no text, and no verdict on the file", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-altered-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const extractor = createExtractor();
  // Read here, and by a reader; with a text, and without one.
  const cases: [type: string, content: string][] = [
    ["md", "# Text"],
    ["md", "x".repeat(200_000)],
    ["md", ""],
    ["pdf", "no PDF"],
  ];
  for (const [type, content] of cases) {
    const path = join(folder, `file.${type}`);
    await writeFile(path, content);
    const extract = async (text: string): Promise<string> => {
      const sha256 = createHash("sha256").update(text).digest("hex");
      return (await extractor.extract(path, type, signal, sha256)).markdown;
    };
    await assert.rejects(extract("what was there"), AlteredError);
    if (content === "" || type === "pdf") await assert.rejects(extract(content), ExtractError);
    else assert.equal(await extract(content), content);
  }
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
  assert.deepEqual([createExtractor().revision, hash.digest("hex").slice(0, 16)], ["3", "baa9a691dcf58da4"]);
});

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
    ["pptx", makePptx([{ shapes: shape("title", "T") + shape("body", "a", "\tb"), notes: "n" }])],
    [
      "xlsx",
      makeXlsx([
        {
          name: "S",
          rows: [
            ["a", "b"],
            ["x", [45_292.5, "d.m.yy h:mm"]],
            [[-0.5, "0.0%"], null],
          ],
        },
      ]),
    ],
    ["csv", "a;b\n1;2\n"],
    ["rtf", "{\\rtf1{\\stylesheet{\\s1 heading 1;}}\\s1 H\\par\\pard x\\'e4\\cell y\\cell\\row}"],
    ["eml", "Subject: S\r\nFrom: a@b.c\r\n\r\nThis is the text that we have to say to all of you."],
    ["msg", makeMsg({ subject: "S", from: ["A", "a@b.c"], to: ["B", "b@b.c"], body: "text" })],
  ]);
}
