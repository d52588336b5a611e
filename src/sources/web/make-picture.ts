import type { Sharp, SharpOptions } from "sharp";
import { explain } from "../../contracts/errors.ts";
import { createLimiter } from "../../lib/concurrency.ts";

/** Raise it when the same bytes give another picture. */
export const PICTURE_REVISION = "1";
const LONGEST_EDGE = 1920;
const THUMBNAIL_EDGE = 320;
/** Larger images would need too much memory; photographs have at most 50 megapixels. */
const MAX_PIXELS = 50_000_000;
const TIMEOUT_SECONDS = 20;
const WHITE = { r: 255, g: 255, b: 255 };

export interface Picture {
  readonly bytes: Uint8Array;
  readonly mimeType: "image/png" | "image/jpeg";
  readonly width: number;
  readonly height: number;
  /** Always a JPEG. */
  readonly thumbnail: Uint8Array;
  readonly looksLike: string;
}

/** Limits concurrency: decoded images are large. */
const withDecoder = createLimiter(2);

/** Returns the picture to store, or why it is skipped. Copies only pixels: no location, camera or name. */
export async function makePicture(
  bytes: Uint8Array,
  rules: ImageRules,
): Promise<Picture | { readonly skipped: string }> {
  const kind = imageKind(bytes);
  if (kind === "") return { skipped: "not a JPEG, PNG, WebP, GIF, BMP or TIFF picture" };
  if (kind === "svg" && !rules.enableSvg) return { skipped: "an SVG picture, and IMAGE_ENABLE_SVG is not set" };
  try {
    return await withDecoder(() => decode(bytes, kind, rules));
  } catch (error) {
    return { skipped: `cannot be read: ${explain(error).slice(0, 300)}` };
  }
}

async function decode(
  bytes: Uint8Array,
  kind: string,
  rules: ImageRules,
): Promise<Picture | { readonly skipped: string }> {
  const { default: sharp } = await import("sharp");
  // Each picture is made once, so a cache is useless.
  sharp.cache(false);
  const open = (input: Uint8Array, options: SharpOptions = {}): Sharp =>
    sharp(input, { limitInputPixels: MAX_PIXELS, failOn: "error", ...options }).timeout({ seconds: TIMEOUT_SECONDS });
  const source = (): Sharp => {
    if (kind !== "bmp") return open(bytes);
    const { pixels, ...raw } = readBitmap(bytes, MAX_PIXELS);
    return open(pixels, { raw });
  };
  const found = await source().metadata();
  const small = tooSmall({ ...found.autoOrient, bytes: bytes.length }, rules);
  if (small) return { skipped: small };
  const fitted = source()
    .autoOrient()
    .resize({ width: LONGEST_EDGE, height: LONGEST_EDGE, fit: "inside", withoutEnlargement: true });
  const encoded = found.hasAlpha ? fitted.png() : fitted.jpeg({ quality: 85 });
  const { data, info } = await encoded.toBuffer({ resolveWithObject: true });
  const thumbnail = await open(data)
    .flatten({ background: WHITE })
    .resize({ width: THUMBNAIL_EDGE, height: THUMBNAIL_EDGE, fit: "inside", withoutEnlargement: true })
    .jpeg({ quality: 80 })
    .toBuffer();
  const grey = await open(thumbnail).greyscale().resize(HASHED_SIDE, HASHED_SIDE, { fit: "fill" }).raw().toBuffer();
  return {
    bytes: data,
    mimeType: found.hasAlpha ? "image/png" : "image/jpeg",
    width: info.width,
    height: info.height,
    thumbnail,
    looksLike: perceptualHash(grey),
  };
}

const KINDS: readonly [kind: string, beginsWith: RegExp][] = [
  ["jpeg", /^\xff\xd8\xff/],
  ["png", /^\x89PNG\r\n/],
  ["gif", /^GIF8[79]a/],
  ["webp", /^RIFF[\s\S]{4}WEBP/],
  ["tiff", /^(?:II\*\0|MM\0\*)/],
  ["bmp", /^BM/],
  ["svg", /<svg[\s>]/i],
];
const SNIFFED_BYTES = 1024;

/** Recognises the format by the bytes, whatever the content type; "" for an unknown one. */
function imageKind(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, SNIFFED_BYTES)).toString("latin1");
  return KINDS.find(([, pattern]) => pattern.test(head))?.[0] ?? "";
}

const FILE_HEADER_BYTES = 14;
const NOT_COMPRESSED = 0;

/** Decodes an uncompressed Windows bitmap with 24 or 32 bits per pixel, which sharp does not read. Throws for others. */
function readBitmap(
  bytes: Uint8Array,
  maxPixels: number,
): { readonly pixels: Uint8Array; readonly width: number; readonly height: number; readonly channels: 3 } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < FILE_HEADER_BYTES + 40) throw new Error("the bitmap is damaged");
  const start = view.getUint32(10, true);
  const width = view.getInt32(18, true);
  const signedHeight = view.getInt32(22, true);
  const bits = view.getUint16(28, true);
  if (view.getUint32(30, true) !== NOT_COMPRESSED || (bits !== 24 && bits !== 32)) {
    throw new Error("only uncompressed bitmaps with 24 or 32 bits a pixel can be read");
  }
  const height = Math.abs(signedHeight);
  const step = bits / 8;
  const stride = Math.ceil((width * step) / 4) * 4;
  if (width <= 0 || height === 0 || width * height > maxPixels || start + stride * height > bytes.length) {
    throw new Error("the bitmap is damaged or too large");
  }
  const pixels = new Uint8Array(width * height * 3);
  for (let row = 0; row < height; row += 1) {
    // Rows are stored from the bottom up unless the height is negative.
    let from = start + stride * (signedHeight > 0 ? height - 1 - row : row);
    for (let to = row * width * 3; to < (row + 1) * width * 3; to += 3, from += step) {
      pixels[to] = bytes[from + 2] ?? 0;
      pixels[to + 1] = bytes[from + 1] ?? 0;
      pixels[to + 2] = bytes[from] ?? 0;
    }
  }
  return { pixels, width, height, channels: 3 };
}

/** Which pictures are stored. */
export interface ImageRules {
  readonly minWidth: number;
  readonly minHeight: number;
  readonly minArea: number;
  readonly minBytes: number;
  readonly maxAspect: number;
  readonly enableSvg: boolean;
}

const DECORATION = /favicon|apple-touch-icon|mask-icon|sprite|logo|brandmark|\/icons\/|\/emoji\//i;

export function seemsDecoration(url: string): boolean {
  return DECORATION.test(url);
}

/** Returns why a picture of this size is skipped, "" if it is not. */
function tooSmall(
  { width, height, bytes }: { readonly width: number; readonly height: number; readonly bytes: number },
  rules: ImageRules,
): string {
  const size = `${width} x ${height} pixels`;
  if (width < rules.minWidth || height < rules.minHeight) {
    return `${size}; at least ${rules.minWidth} x ${rules.minHeight} are asked for`;
  }
  if (width * height < rules.minArea) return `${size}; an area of at least ${rules.minArea} is asked for`;
  if (Math.max(width / height, height / width) > rules.maxAspect) {
    return `${size}; one side may be at most ${rules.maxAspect} times as long as the other`;
  }
  return bytes < rules.minBytes ? `${bytes} bytes; at least ${rules.minBytes} are asked for` : "";
}

/** Side of the hashed picture, and of the part of its spectrum that is used. */
const HASHED_SIDE = 32;
const CORNER = 8;

const COSINES = Array.from({ length: CORNER }, (_, frequency) =>
  Array.from({ length: HASHED_SIDE }, (_, at) => Math.cos((Math.PI * frequency * (2 * at + 1)) / (2 * HASHED_SIDE))),
);

/**
 * Returns a perceptual hash of 64 bits in hexadecimal: which low frequencies of the cosine transform are above their median.
 * Another size, format or compression changes few bits. `grey`: 32 x 32 bytes.
 */
function perceptualHash(grey: Uint8Array): string {
  const rows = lowFrequencies((line, at) => grey[line * HASHED_SIDE + at] ?? 0, HASHED_SIDE);
  const corner = lowFrequencies((column, at) => rows[at]?.[column] ?? 0, CORNER).flat();
  // The first value is the brightness, which is much larger than the others and is left out of the median.
  const [, ...others] = corner;
  const median = others.toSorted((first, other) => first - other)[Math.floor(others.length / 2)] ?? 0;
  const bits = corner.map((value) => (value > median ? "1" : "0")).join("");
  return BigInt(`0b${bits}`).toString(16).padStart(16, "0");
}

function lowFrequencies(valueAt: (line: number, at: number) => number, lines: number): number[][] {
  return Array.from({ length: lines }, (_, line) =>
    COSINES.map((cosines) => cosines.reduce((sum, cosine, at) => sum + cosine * valueAt(line, at), 0)),
  );
}

/** Returns the number of bits that differ. */
export function hammingDistance(first: string, other: string): number {
  let different = BigInt(`0x${first}`) ^ BigInt(`0x${other}`);
  let count = 0;
  for (; different > 0n; different &= different - 1n) count += 1;
  return count;
}
