import { promisify } from "node:util";
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from "node:zlib";
import { BodyError } from "../../../contracts/web.ts";

type Unpack = (bytes: Uint8Array, limit: { maxOutputLength: number }) => Promise<Uint8Array>;

const GUNZIP: Unpack = promisify(gunzip);
const INFLATE: Unpack = promisify(inflate);
const INFLATE_RAW: Unpack = promisify(inflateRaw);
const UNZSTD: (bytes: Uint8Array, options: object) => Promise<Uint8Array> = promisify(zstdDecompress);
/** RFC 9659: on the web nobody needs a window larger than 8 MiB, which is memory taken before a byte comes out. */
const ZSTD_WINDOW = { [constants.ZSTD_d_windowLogMax]: 23 };

const CODINGS: ReadonlyMap<string, Unpack> = new Map([
  ["gzip", GUNZIP],
  ["x-gzip", GUNZIP],
  // Servers send it with and without the two bytes of zlib in front.
  ["deflate", (bytes, limit) => (hasZlibHeader(bytes) ? INFLATE : INFLATE_RAW)(bytes, limit)],
  ["br", promisify(brotliDecompress)],
  ["zstd", (bytes, limit) => UNZSTD(bytes, { ...limit, params: ZSTD_WINDOW })],
]);

export const ACCEPTED_CODINGS = "gzip, br, zstd, deflate";
const MAX_CODINGS = 3;

/** The codings in the order they were applied; undefined when there is one that nobody here knows, or suspiciously many. */
export function readCodings(contentEncoding: string | undefined): readonly string[] | undefined {
  if (!contentEncoding) return [];
  const names = contentEncoding.split(",").map((name) => name.trim().toLowerCase());
  const codings = names.filter((name) => name !== "" && name !== "identity");
  return codings.length <= MAX_CODINGS && codings.every((name) => CODINGS.has(name)) ? codings : undefined;
}

/** However small the packed bytes are, no more than `maxBytes` come out. */
export async function unpackBody(
  packed: Uint8Array,
  codings: readonly string[],
  maxBytes: number,
): Promise<Uint8Array> {
  let bytes = packed;
  for (const coding of codings.toReversed()) {
    const unpack = CODINGS.get(coding);
    if (bytes.byteLength === 0 || !unpack) return bytes;
    try {
      bytes = await unpack(bytes, { maxOutputLength: maxBytes });
    } catch (error) {
      throw trouble(error, coding, maxBytes);
    }
  }
  return bytes;
}

export function tooLarge(maxBytes: number): BodyError {
  return new BodyError(`it is larger than the ${maxBytes} bytes that are taken`, "too large");
}

export function notWhole(cause?: unknown): BodyError {
  return new BodyError("it did not arrive whole", "unavailable", { cause });
}

function trouble(error: unknown, coding: string, maxBytes: number): BodyError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ERR_BUFFER_TOO_LARGE") return tooLarge(maxBytes);
  if (code === "Z_BUF_ERROR") return notWhole(error);
  return new BodyError(`it is not packed as it says (${coding})`, "broken", { cause: error });
}

function hasZlibHeader(bytes: Uint8Array): boolean {
  const [method = 0, flags = 0] = bytes;
  return (method & 0x0f) === 8 && ((method << 8) | flags) % 31 === 0;
}
