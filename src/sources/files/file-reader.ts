import type { FileState } from "../../contracts/registry.ts";

/** The result of reading one registered file. */
export type FileResult =
  | { readonly kind: "read"; readonly bytes: Uint8Array; readonly file: FileState }
  | { readonly kind: "unchanged"; readonly file: FileState }
  /** It does not exist, but its folder or container does. */
  | { readonly kind: "missing" }
  /** It must not be read, or is no file; a retry changes nothing. */
  | { readonly kind: "refused"; readonly reason: string }
  /** Temporary; never means that it is gone. */
  | { readonly kind: "failed"; readonly reason: string };

export interface FileRequest {
  /** Path or URL as registered. */
  readonly source: string;
  /** Known `etag`, so that "unchanged" is possible; "" for none. */
  readonly etag: string;
  /** Known `device`; "" for none. */
  readonly device: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Reads single files from disk or blob storage. */
export interface FileReader {
  /** Returns why the file must not be read, whether it exists or not; "" if it may. */
  refusal(source: string): Promise<string>;
  read(request: FileRequest): Promise<FileResult>;
}

export function tooLarge(bytes: number, maxBytes: number): FileResult {
  return { kind: "refused", reason: `It has ${bytes} bytes; the limit is ${maxBytes} (WEB_MAX_MEGABYTES).` };
}

export async function allOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(body));
}
