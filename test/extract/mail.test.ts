// Mails become text with subject, envelope and attachments, from eml and msg.
import assert from "node:assert/strict";
import { test } from "node:test";
import { extractFile } from "./extract-file.ts";
import { makeDocx, paragraph, styled } from "./make-docx.ts";
import { makeMsg } from "./make-msg.ts";
import { makePdf } from "./make-pdf.ts";

function makeEml(headers: readonly string[], body: string): string {
  return [...headers, "", ...body.split("\n")].join("\r\n");
}

const ENVELOPE = [
  "From: =?utf-8?B?QW5uYSBHcsO8bg==?= <anna@contoso.com>",
  "To: Bob <bob@contoso.com>, team@contoso.com",
  "Cc: Team: Carl <carl@contoso.com>;",
  "Subject: =?iso-8859-1?Q?Gr=FC=DFe?= from Kiel",
  "Date: Mon, 1 Jan 2024 10:00:00 +0100",
  "MIME-Version: 1.0",
];

test("eml: the subject is the heading, the envelope a few lines, then the text", async () => {
  const eml = makeEml(
    [...ENVELOPE, "Content-Type: text/plain; charset=windows-1252", "Content-Transfer-Encoding: quoted-printable"],
    "Hello =80,\n\n# no heading\n> quoted",
  );
  assert.deepEqual(await extractFile("eml", eml), {
    title: "Grüße from Kiel",
    language: "",
    markdown: [
      "# Grüße from Kiel",
      "From: Anna Grün <anna@contoso.com>\nTo: Bob <bob@contoso.com>, team@contoso.com\nCc: Carl <carl@contoso.com>\nDate: 2024-01-01T09:00:00.000Z",
      "Hello €,\n\n\\# no heading\n\\> quoted",
    ].join("\n\n"),
  });
});

test("eml: a page wins over the text beside it; attachments are named, and read when they can be", async () => {
  const docx = makeDocx({ body: styled("berschrift1", "Terms") + paragraph("Thirty days.") });
  const part = (type: string, name: string, content: Buffer): string =>
    `--b\nContent-Type: ${type}; name="${name}"\nContent-Disposition: attachment; filename="${name}"\nContent-Transfer-Encoding: base64\n\n${content.toString("base64")}\n`;
  const body = [
    '--b\nContent-Type: multipart/alternative; boundary="c"\n\n--c\nContent-Type: text/plain\n\nplain\n--c\nContent-Type: text/html\n\n<h1>Offer</h1><p>See <b>below</b><table><tr><th>a<th>b<tr><td>1<td>2</table>\n--c--\n',
    part("application/octet-stream", "terms.docx", docx),
    part("application/octet-stream", "broken.pdf", Buffer.from("%PDF-1.4 nothing")),
    part("image/png", "logo.png", Buffer.from("x")),
    "--b--",
  ].join("");
  const { markdown } = await extractFile(
    "eml",
    makeEml([...ENVELOPE, 'Content-Type: multipart/mixed; boundary="b"'], body),
  );
  assert.match(markdown, /^Attachments: terms\.docx, broken\.pdf, logo\.png$/m);
  assert.ok(
    markdown.endsWith(
      "\n\n## Offer\n\nSee below\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n## Attachment: terms.docx\n\n### Terms\n\nThirty days.\n\n## Attachment: broken.pdf\n\n(It could not be read: The PDF is damaged and cannot be read.)",
    ),
    markdown,
  );
});

test("eml refused: what does not begin with headers", async () => {
  const refused = { name: "ExtractError", message: /not an e-mail message/ };
  await assert.rejects(extractFile("eml", "just some text\nwithout headers"), refused);
});

test("eml: parts nested without end are refused", async () => {
  const nested = Array.from(
    { length: 400 },
    (_, at) => `--b${at}\nContent-Type: multipart/mixed; boundary="b${at + 1}"\n`,
  );
  const eml = makeEml(['Content-Type: multipart/mixed; boundary="b0"'], nested.join("\n"));
  await assert.rejects(extractFile("eml", eml), { name: "ExtractError", message: /damaged/ });
});

test("msg: as Outlook saves it, with a PDF attached", async () => {
  const msg = makeMsg({
    subject: "Angebot 漢字",
    from: ["Anna Grün", "anna@contoso.com"],
    to: ["Bob", "bob@contoso.com"],
    body: "Hallo Bob,\r\n\r\nanbei das Angebot.",
    attachment: { name: "offer.pdf", content: makePdf({ pages: [[{ text: "Forty-two euros", y: 700 }]] }) },
  });
  assert.deepEqual(await extractFile("msg", msg), {
    title: "Angebot 漢字",
    language: "",
    markdown: [
      "# Angebot 漢字",
      "From: Anna Grün <anna@contoso.com>\nCc: Bob <bob@contoso.com>\nDate: 2024-01-01T09:00:00.000Z\nAttachments: offer.pdf",
      "Hallo Bob,\n\nanbei das Angebot.",
      "## Attachment: offer.pdf",
      "Forty-two euros",
    ].join("\n\n"),
  });
});

test("msg: the page in it is read in its own encoding", async () => {
  const html = '<html><head><meta charset="utf-8"></head><h2>Preis</h2><p>Größe';
  const msg = makeMsg({ subject: "S", from: ["A", "a@b.c"], to: ["B", "b@b.c"], html });
  assert.ok((await extractFile("msg", msg)).markdown.endsWith("### Preis\n\nGröße"));
});

test("msg refused: cut short", async () => {
  const msg = makeMsg({ subject: "S", from: ["A", "a@b.c"], to: ["B", "b@b.c"], body: "x".repeat(20_000) });
  await assert.rejects(extractFile("msg", msg.subarray(0, 700)), { name: "ExtractError", code: "invalid_file" });
});

test("msg: without another text, the compressed Rich Text is read", async () => {
  const rtf = Buffer.from("{\\rtf1\\ansi Nur hier steht es.\\par}");
  const msg = makeMsg({ subject: "S", from: ["A", "a@b.c"], to: ["B", "b@b.c"], rtf });
  assert.match((await extractFile("msg", msg)).markdown, /\n\nNur hier steht es\.$/);
});

/** Where the sectors of the made files are, and what of a sector's table or of the directory leads to what. */
const ENDLESS: readonly [title: string, damage: (msg: Buffer) => void][] = [
  [
    "the chain of the directory runs in a circle",
    (msg) => msg.writeUInt32LE(msg.readUInt32LE(48), tableAt(msg, msg.readUInt32LE(48))),
  ],
  ["the root is its own child", (msg) => msg.writeUInt32LE(0, directoryAt(msg) + 76)],
  ["two entries lead to the same", (msg) => msg.writeUInt32LE(1, directoryAt(msg) + 128 + 68)],
  ["a stream says that it has two gigabytes", (msg) => msg.writeUInt32LE(0x7fffffff, streamAt(msg) + 120)],
  ["there are more tables than the file has room for", (msg) => msg.writeUInt32LE(0x7fffffff, 44)],
];
const directoryAt = (msg: Buffer): number => (msg.readUInt32LE(48) + 1) * 512;
const tableAt = (msg: Buffer, sector: number): number => (msg.readUInt32LE(76) + 1) * 512 + sector * 4;
function streamAt(msg: Buffer): number {
  for (let at = directoryAt(msg); ; at += 128) if (msg.readUInt8(at + 66) === 2) return at;
}

for (const [title, damage] of ENDLESS) {
  test(`msg refused at once: ${title}`, async () => {
    const msg = makeMsg({ subject: "S", from: ["A", "a@b.c"], to: ["B", "b@b.c"], body: "x".repeat(20_000) });
    damage(msg);
    await assert.rejects(extractFile("msg", msg), { name: "ExtractError", code: "invalid_file" });
  });
}
