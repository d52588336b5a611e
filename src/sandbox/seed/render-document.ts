import { readFileSync } from "node:fs";
import { crc32 } from "node:zlib";
import { strToU8, zipSync, zlibSync } from "fflate";
import type { SeedDocument } from "./company-documents.ts";
import { parseBlocks } from "./text-blocks.ts";
import { writeDocx } from "./write-docx.ts";
import { writeHtml, writeText } from "./write-page.ts";
import { writePdf } from "./write-pdf.ts";

/** The bytes of a seeded document: made once, the same on every call and on every machine. */
export function renderDocument(document: SeedDocument): Uint8Array {
  const bytes = rendered.get(document.path) ?? render(document);
  rendered.set(document.path, bytes);
  return bytes;
}

const rendered = new Map<string, Uint8Array>();

function render({ path, text }: SeedDocument): Uint8Array {
  if (text === "logo") return drawLogo();
  if (text === "drawings") return packDrawings();
  const markdown = readFileSync(new URL(`texts/${text}.md`, import.meta.url), "utf8").replaceAll("\r\n", "\n");
  const blocks = parseBlocks(markdown);
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? "";
  const format = path.slice(path.lastIndexOf(".") + 1);
  if (format === "docx") return writeDocx(blocks, title);
  if (format === "pdf") return writePdf(blocks, title);
  if (format === "html") return Buffer.from(writeHtml(blocks, title));
  return Buffer.from(format === "txt" ? writeText(blocks) : markdown);
}

const LOGO_SIZE = 96;

/** A wheel: a ring and a hub on white, 8-bit grey. */
function drawLogo(): Uint8Array {
  const pixels = Buffer.alloc(LOGO_SIZE * (LOGO_SIZE + 1), 0xff);
  for (let y = 0; y < LOGO_SIZE; y++) {
    pixels[y * (LOGO_SIZE + 1)] = 0;
    for (let x = 0; x < LOGO_SIZE; x++) {
      const radius = Math.hypot(x - LOGO_SIZE / 2, y - LOGO_SIZE / 2);
      if (radius < 6 || (radius > 36 && radius < 44)) pixels[y * (LOGO_SIZE + 1) + 1 + x] = 0x30;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(LOGO_SIZE, 0);
  header.writeUInt32BE(LOGO_SIZE, 4);
  header[8] = 8;
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    pngChunk("IHDR", header),
    pngChunk("IDAT", zlibSync(pixels)),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, content: Uint8Array): Uint8Array {
  const body = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(content.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

function packDrawings(): Uint8Array {
  const parts = ["frame", "fork", "steering-rod", "cargo-bed"].map(
    (part) => [`dray-2026/${part}.step`, strToU8(`ISO-10303-21; HEADER; /* ${part}, Dray 2026 */ ENDSEC;\n`)] as const,
  );
  return zipSync(Object.fromEntries(parts), { mtime: new Date(2024, 0, 1) });
}
