const MEGABYTE = 1024 * 1024;

export interface ExtractLimits {
  /** How long a processor may work on one file. */
  readonly timeoutMs: number;
  /** What reading one file may add to the memory of its reader. */
  readonly maxMemoryBytes: number;
  readonly maxBytes: number;
  /** For formats that are text themselves; a larger one is an export or a log, not a document. */
  readonly maxTextBytes: number;
  /** For zipped formats, of the parts that are unpacked. */
  readonly maxUnpackedBytes: number;
  /** Pages of a PDF; the rest is left out with a note. */
  readonly maxPages: number;
  /** Rows of a sheet or a csv file; the rest is left out with a note. */
  readonly maxRows: number;
}

export const DEFAULT_LIMITS: ExtractLimits = {
  timeoutMs: 60_000,
  maxMemoryBytes: 512 * MEGABYTE,
  maxBytes: 512 * MEGABYTE,
  maxTextBytes: 50 * MEGABYTE,
  maxUnpackedBytes: 128 * MEGABYTE,
  // The library looks for each page from the start, so that a page costs more the more there are: 5000 take 15 s.
  maxPages: 5000,
  maxRows: 50_000,
};

export function inMegabytes(bytes: number): number {
  return Math.round(bytes / MEGABYTE);
}
