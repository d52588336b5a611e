import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import mammoth from "mammoth";
import PostalMime from "postal-mime";
import { extractText, getDocumentProxy } from "unpdf";
import { createExtractor } from "../src/extract/extractor.ts";
import { DEFAULT_LIMITS } from "../src/extract/limits.ts";
import type { ReadTask } from "../src/extract/reader/messages.ts";
import { ReaderPool } from "../src/extract/reader/reader-pool.ts";
import { makeDocx, paragraph, styled } from "../test/extract/make-docx.ts";
import { makePdf } from "../test/extract/make-pdf.ts";
import { makePptx, shape } from "../test/extract/make-pptx.ts";
import { makeXlsx } from "../test/extract/make-xlsx.ts";
import { median } from "./measure.ts";

const ROUNDS = 7;
const SENTENCE = "The limit for a hotel night is 145 euros including breakfast and city tax. ";
const signal = new AbortController().signal;

interface Sample {
  readonly type: string;
  readonly title: string;
  readonly bytes: Buffer;
  /** What the least reader of the format does, in this process: text without structure. */
  readonly floor: { readonly name: string; run(bytes: Buffer): Promise<unknown> | unknown };
}

/** Whole documents of a usual size, ours beside the bare library, and what asking another process costs. */
export async function extractBench(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-bench-extract-"));
  try {
    process.stdout.write(`${"".padEnd(34)}    kB    ours ms   MB/s   bare ms  times the bare one\n`);
    for (const sample of samples()) await compare(folder, sample);
    await compareHop(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function compare(folder: string, { type, title, bytes, floor }: Sample): Promise<void> {
  const path = join(folder, `sample.${type}`);
  await writeFile(path, bytes);
  const { extract } = createExtractor();
  const ours = await time(() => extract(path, type, signal));
  const bare = await time(async () => floor.run(await readFile(path)));
  const speed = bytes.length / 1e6 / (ours / 1000);
  process.stdout.write(
    `${`${type}: ${title}`.padEnd(34)} ${kilobytes(bytes)} ${ms(ours)} ${speed.toFixed(1).padStart(7)} ${ms(bare)}  ${(ours / bare).toFixed(2)} × ${floor.name}\n`,
  );
}

/** 20 kB of text, in this process as they are read, and by a reader. */
async function compareHop(folder: string): Promise<void> {
  const path = join(folder, "small.txt");
  const bytes = Buffer.from(SENTENCE.repeat(270));
  await writeFile(path, bytes);
  const files = 200;
  const pool = new ReaderPool();
  const { extract } = createExtractor();
  const request: ReadTask = { kind: "file", path, fileType: "txt", limits: DEFAULT_LIMITS };
  const oneByOne = async (read: () => Promise<unknown>): Promise<void> => {
    for (let file = 0; file < files; file += 1) await read();
  };
  const here = (await time(() => oneByOne(() => extract(path, "txt", signal)))) / files;
  const there = (await time(() => oneByOne(() => pool.read(request, signal)))) / files;
  const bare = (await time(() => oneByOne(() => readFile(path, "utf8")))) / files;
  const row = (title: string, value: number): string =>
    `${title.padEnd(34)} ${kilobytes(bytes)} ${value.toFixed(3).padStart(10)} ms a file, ${Math.round(1000 / value)} files/s\n`;
  process.stdout.write(row("txt: read in this process", here));
  process.stdout.write(row("txt: read by a reader", there));
  process.stdout.write(row("txt: bare readFile", bare));
}

/** The median of some rounds, after one that loads what is needed. */
async function time(run: () => Promise<unknown>): Promise<number> {
  await run();
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    await run();
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

function samples(): Sample[] {
  const lines = Array.from({ length: 40 }, (_, at) => ({ text: SENTENCE, y: 800 - 18 * at }));
  const html = `<main>${`<h2>Hotels</h2><p>${SENTENCE.repeat(5)}</p><table><tr><th>a<th>b<tr><td>1<td>2</table>`.repeat(500)}</main>`;
  const unzip = { name: "unzip", run: (bytes: Buffer) => unzipSync(bytes) };
  return [
    {
      type: "pdf",
      title: "100 pages",
      bytes: makePdf({ pages: Array.from({ length: 100 }, () => lines) }),
      floor: { name: "unpdf", run: pdfText },
    },
    {
      type: "docx",
      title: "2000 paragraphs",
      bytes: makeDocx({ body: (styled("berschrift1", "Hotels") + paragraph(SENTENCE).repeat(9)).repeat(200) }),
      floor: { name: "mammoth, raw text", run: (buffer) => mammoth.extractRawText({ buffer }) },
    },
    {
      type: "pptx",
      title: "100 slides",
      bytes: makePptx(
        Array.from({ length: 100 }, () => ({
          shapes: shape("title", "Hotels") + shape("body", SENTENCE, SENTENCE),
          notes: SENTENCE,
        })),
      ),
      floor: unzip,
    },
    {
      type: "xlsx",
      title: "10,000 rows of 5 cells",
      bytes: makeXlsx([
        {
          name: "S",
          rows: [
            ["Name", "City", "Since", "Pay", "No"],
            ...Array.from(
              { length: 10_000 },
              (_, at) => [`name ${at}`, "Kiel", [45_000 + (at % 900), "dd.mm.yyyy"], [at, "#,##0.00"], at] as const,
            ),
          ],
        },
      ]),
      floor: unzip,
    },
    {
      type: "csv",
      title: "10,000 rows",
      bytes: Buffer.from(`name,city,no\n${"Anna,Kiel,1\n".repeat(10_000)}`),
      floor: {
        name: "split",
        run: (bytes) =>
          bytes
            .toString()
            .split("\n")
            .map((line) => line.split(",")),
      },
    },
    {
      type: "html",
      title: "500 sections",
      bytes: Buffer.from(html),
      floor: { name: "strip tags", run: (bytes) => bytes.toString().replaceAll(/<[^>]*>/g, " ") },
    },
    {
      type: "eml",
      title: "a long message",
      bytes: Buffer.from(`Subject: S\r\nContent-Type: text/html\r\n\r\n${html}`),
      floor: { name: "postal-mime", run: (bytes) => PostalMime.parse(bytes) },
    },
    {
      type: "rtf",
      title: "2000 paragraphs",
      bytes: Buffer.from(`{\\rtf1\\ansi ${`\\pard ${SENTENCE}\\par\n`.repeat(2000)}}`),
      floor: { name: "strip words", run: (bytes) => bytes.toString("latin1").replaceAll(/\\\w+ ?|[{}]/g, "") },
    },
    {
      type: "txt",
      title: "1 MB",
      bytes: Buffer.from(SENTENCE.repeat(14_000)),
      floor: { name: "decode", run: (bytes) => bytes.toString() },
    },
  ];
}

async function pdfText(bytes: Buffer): Promise<unknown> {
  return extractText(await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 }));
}

function ms(value: number): string {
  return value.toFixed(1).padStart(9);
}

function kilobytes(bytes: Buffer): string {
  return (bytes.length / 1000).toFixed(0).padStart(6);
}
