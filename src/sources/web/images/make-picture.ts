import type { Sharp, SharpOptions } from "sharp";
import { explain } from "../../../contracts/errors.ts";
import { createAtMost } from "../../../lib/at-most.ts";
import { imageKind } from "./image-kind.ts";
import { type ImageRules, tooSmall } from "./image-rules.ts";
import { HASHED_SIDE, perceptualHash } from "./perceptual-hash.ts";
import { readBitmap } from "./read-bitmap.ts";

/** Raise it when the same bytes would give another picture. */
export const PICTURE_REVISION = "1";
const LONGEST_EDGE = 1920;
const THUMBNAIL_EDGE = 320;
/** A photograph has 50 million at most. More unpack to more memory than pictures of pages are worth. */
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

/** Unpacked pictures are large, whoever asks for them. */
const unpacking = createAtMost(2);

/** The picture as it is kept, or why it is not. Nothing but its pixels is carried over: no place, no camera, no name. */
export async function makePicture(
  bytes: Uint8Array,
  rules: ImageRules,
): Promise<Picture | { readonly skipped: string }> {
  const kind = imageKind(bytes);
  if (kind === "") return { skipped: "not a JPEG, PNG, WebP, GIF, BMP or TIFF picture" };
  if (kind === "svg" && !rules.enableSvg) return { skipped: "an SVG picture, and IMAGE_ENABLE_SVG is not set" };
  try {
    return await unpacking(() => unpack(bytes, kind, rules));
  } catch (error) {
    return { skipped: `cannot be read: ${explain(error).slice(0, 300)}` };
  }
}

async function unpack(
  bytes: Uint8Array,
  kind: string,
  rules: ImageRules,
): Promise<Picture | { readonly skipped: string }> {
  const { default: sharp } = await import("sharp");
  // No picture is made twice, so nothing is worth remembering.
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
