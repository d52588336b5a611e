import type { WebPage, WebPageReader } from "../../contracts/web.ts";
import { DEFAULT_LIMITS, type ExtractLimits } from "../limits.ts";
import { errorOf, type PageRequest } from "../reader/messages.ts";
import { readers } from "../reader/reader-pool.ts";
import { readPage } from "./read-page.ts";

/** Raise it when a page would give another document: also after changes to `lib/html.ts` and `extract/html-to-markdown.ts`. */
const REVISION = "web-3";
/** Most pages are smaller and take milliseconds; the worst of this size stop the server for less than half a second. */
const MAX_BYTES_HERE = 256 * 1024;

export interface PageReaderOptions extends Partial<ExtractLimits> {
  /** Larger answers are read in a process of their own. */
  readonly maxBytesHere?: number;
}

export function createWebPageReader(options: PageReaderOptions = {}): WebPageReader {
  const { maxBytesHere = MAX_BYTES_HERE, ...given } = options;
  const limits: ExtractLimits = { ...DEFAULT_LIMITS, ...given };
  const read = async (request: Omit<PageRequest, "kind" | "limits">, signal: AbortSignal): Promise<WebPage> => {
    if (request.bytes.length <= maxBytesHere) return readPage(request);
    const { outcome } = await readers.read({ kind: "page", ...request, limits }, signal);
    if (outcome.status === "read page") return outcome.page;
    throw errorOf(outcome);
  };
  return {
    revision: REVISION,
    read: (bytes, contentType, url, signal) => read({ form: "html", bytes, contentType, url }, signal),
    readMarkdown: (bytes, contentType, url, signal) => read({ form: "text", bytes, contentType, url }, signal),
  };
}
