import type { FileState } from "../../contracts/registry.ts";

/** What a look at one file, wherever it lies, came to. */
export type FileResult =
  | { readonly kind: "read"; readonly bytes: Uint8Array; readonly file: FileState }
  | { readonly kind: "unchanged"; readonly file: FileState }
  /** It is not there, while the place where it would be is. */
  | { readonly kind: "missing" }
  /** It must not be read, or is nothing to read; looking again changes nothing. */
  | { readonly kind: "refused"; readonly reason: string }
  /** Not now. Never a sign that it is gone. */
  | { readonly kind: "failed"; readonly reason: string };

export interface FileRequest {
  /** As it was registered. */
  readonly source: string;
  /** The `etag` that is known: with it, "unchanged" will do. "" for nothing. */
  readonly etag: string;
  /** The `device` that is known; "" for none. */
  readonly device: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** A place where single files lie. */
export interface FileReader {
  /** Why a file there must not be read, whether it is there or not; "" when it may. */
  refusal(source: string): Promise<string>;
  read(request: FileRequest): Promise<FileResult>;
}

export function tooLarge(bytes: number, maxBytes: number): FileResult {
  return { kind: "refused", reason: `It has ${bytes} bytes; the limit is ${maxBytes} (WEB_MAX_MEGABYTES).` };
}

export async function allOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
