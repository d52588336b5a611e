import { getDocumentProxy } from "unpdf";
import { ExtractError } from "../../contracts/document.ts";

/** One run of text as the page draws it. `y` grows upwards. */
export interface PdfRun {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly size: number;
}

export interface PdfText {
  readonly title: string;
  /** Runs by page, in drawing order. */
  readonly pages: readonly (readonly PdfRun[])[];
  /** Pages behind those that were left out. */
  readonly leftOut: number;
}

/** Warnings of the library would go to the console; nobody reads them there. */
const ERRORS_ONLY = 0;

export async function readPdf(bytes: Buffer, maxPages: number): Promise<PdfText> {
  try {
    const pdf = await getDocumentProxy(ownBytes(bytes), {
      verbosity: ERRORS_ONLY,
      useSystemFonts: false,
      disableFontFace: true,
    });
    try {
      const pages: PdfRun[][] = [];
      const count = Math.min(pdf.numPages, maxPages);
      for (let number = 1; number <= count; number += 1) pages.push(await readPage(pdf, number));
      return { title: await readTitle(pdf), pages, leftOut: pdf.numPages - count };
    } finally {
      await pdf.loadingTask.destroy();
    }
  } catch (error) {
    throw explainFailure(error);
  }
}

/** The library detaches the buffer it is given; shared memory would take unrelated bytes along. */
function ownBytes(bytes: Buffer): Uint8Array {
  const isWhole = bytes.byteOffset === 0 && bytes.length === bytes.buffer.byteLength;
  return isWhole ? new Uint8Array(bytes.buffer) : new Uint8Array(bytes);
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;

async function readPage(pdf: Pdf, number: number): Promise<PdfRun[]> {
  const page = await pdf.getPage(number);
  const { items } = await page.getTextContent();
  const runs: PdfRun[] = [];
  for (const item of items) {
    if (!("str" in item) || item.str === "") continue;
    const [a = 0, b = 0, c = 0, d = 0, x = 0, y = 0] = item.transform as number[];
    runs.push({ text: item.str, x, y, width: item.width, size: Math.hypot(c, d) || Math.hypot(a, b) });
  }
  page.cleanup();
  return runs;
}

async function readTitle(pdf: Pdf): Promise<string> {
  const { info } = await pdf.getMetadata();
  const title: unknown = Reflect.get(info, "Title");
  return typeof title === "string" ? title.trim() : "";
}

function explainFailure(error: unknown): unknown {
  if (error instanceof ExtractError || !(error instanceof Error)) return error;
  if (error.name === "PasswordException") {
    return new ExtractError("invalid_file", "The PDF is protected by a password.", { cause: error });
  }
  if (/^(?:InvalidPDFException|FormatError|UnknownErrorException|XRefParseException)$/.test(error.name)) {
    return new ExtractError("invalid_file", "The PDF is damaged and cannot be read.", { cause: error });
  }
  return error;
}
