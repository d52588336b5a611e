import { ExtractError, type ExtractedDocument } from "../../contracts/document.ts";
import type { WebPage } from "../../contracts/web.ts";
import type { ExtractLimits } from "../limits.ts";

/** What a reader is asked: one document at a time. */
export type ReadRequest = FileRequest | PageRequest;

/** What the parent is asked; a reader hears of no path. */
export type ReadTask = (Omit<FileRequest, "size" | "bytes"> & { readonly path: string }) | PageRequest;

export interface FileRequest {
  readonly kind: "file";
  readonly size: number;
  /** All bytes of a small file; of a larger one the reader requests what it needs. */
  readonly bytes?: Uint8Array;
  readonly fileType: string;
  readonly limits: ExtractLimits;
}

/** An answer from the web. */
export interface PageRequest {
  readonly kind: "page";
  readonly form: "html" | "text";
  readonly bytes: Uint8Array;
  /** The header. */
  readonly contentType: string;
  readonly url: string;
  readonly limits: ExtractLimits;
}

/**
 * Where a reader asks its parent for bytes of the file, and waits for them: offset and length as two 64-bit floats, then the
 * bytes in chunks, each after its length in 32 bits, an empty one last.
 */
export const BYTES_FD = 4;
export const BYTES_REQUEST = 16;
export const CHUNK_BYTES = 1024 * 1024;

/** The first thing a reader says, once. */
export const READY = "ready";

/** What it answers. `memoryBytes` says how large the reader has become. */
export interface ReadAnswer {
  readonly outcome: ReadOutcome;
  readonly memoryBytes: number;
}

export type ReadOutcome =
  | { readonly status: "read"; readonly document: ExtractedDocument }
  | { readonly status: "read page"; readonly page: WebPage }
  /** A verdict on the file. */
  | { readonly status: "refused"; readonly code: "unsupported_file" | "invalid_file"; readonly message: string }
  /** Trouble with the machine: the file could not be opened, the disk failed. */
  | { readonly status: "failed"; readonly code: string; readonly message: string };

/** Returns the error for an outcome that is not a result. */
export function errorOf(outcome: ReadOutcome): Error {
  if (outcome.status === "refused") return new ExtractError(outcome.code, outcome.message);
  if (outcome.status === "failed") return Object.assign(new Error(outcome.message), { code: outcome.code });
  return new Error("read: the reader answered another question");
}

/** The signals a reader ends itself with when a file needs more memory or processor time than it may have. */
export const TOO_MUCH_MEMORY = "SIGUSR2";
export const TOO_MUCH_TIME = "SIGXCPU";

/**
 * Where reader and watchdog meet, 32-bit words: how many kilobytes the reader may grow to (0 while it is idle), how many
 * milliseconds the processor may have worked for it by then, and a word to sleep on.
 */
export const ALLOWED_KILOBYTES = 0;
export const ALLOWED_CPU_MS = 1;
export const NEVER_WOKEN = 2;
export const SHARED_BYTES = 12;

/** Ends the reader that is over what it may have; it does not return then. */
export function endWhenOver(allowed: Int32Array<SharedArrayBuffer>): void {
  const kilobytes = Atomics.load(allowed, ALLOWED_KILOBYTES);
  if (kilobytes === 0) return;
  if (process.memoryUsage.rss() > kilobytes * 1024) endBy(TOO_MUCH_MEMORY, allowed);
  if (cpuMs() > Atomics.load(allowed, ALLOWED_CPU_MS)) endBy(TOO_MUCH_TIME, allowed);
}

/** Waits for the end: the signal may reach another thread first, and this one would go on and send its answer. */
function endBy(signal: NodeJS.Signals, allowed: Int32Array<SharedArrayBuffer>): never {
  process.kill(process.pid, signal);
  for (;;) Atomics.wait(allowed, NEVER_WOKEN, 0);
}

export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
