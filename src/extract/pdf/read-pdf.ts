import { getDocumentProxy } from "unpdf";
import { ExtractError } from "../../contracts/document.ts";
import type { Deadline } from "../deadline.ts";

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
}

/** Warnings of the library would go to the console; nobody reads them there. */
const ERRORS_ONLY = 0;

export async function readPdf(bytes: Uint8Array, deadline: Deadline): Promise<PdfText> {
  // The library detaches the buffer it is given, and a pooled Buffer would take unrelated bytes along.
  const opening = getDocumentProxy(new Uint8Array(bytes), {
    verbosity: ERRORS_ONLY,
    useSystemFonts: false,
    disableFontFace: true,
  });
  // Not waited for: a library that hangs on a page would hang on closing, too.
  const close = (): void => void opening.then((pdf) => pdf.loadingTask.destroy()).catch(() => undefined);
  const pdf = await deadline.race(opening).catch((error: unknown) => {
    close();
    throw explainFailure(error);
  });
  try {
    const pages: PdfRun[][] = [];
    for (let number = 1; number <= pdf.numPages; number += 1) {
      pages.push(await deadline.race(readPage(pdf, number)));
      await deadline.breathe();
    }
    return { title: await deadline.race(readTitle(pdf)), pages };
  } catch (error) {
    throw explainFailure(error);
  } finally {
    close();
  }
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
  if (error instanceof ExtractError || !(error instanceof Error) || error.name === "AbortError") return error;
  if (error.name === "PasswordException") {
    return new ExtractError("invalid_file", "The PDF is protected by a password.", { cause: error });
  }
  if (/^(?:InvalidPDFException|FormatError|UnknownErrorException|XRefParseException)$/.test(error.name)) {
    return new ExtractError("invalid_file", "The PDF is damaged and cannot be read.", { cause: error });
  }
  return error;
}
