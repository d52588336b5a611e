const FILE_HEADER_BYTES = 14;
const NOT_COMPRESSED = 0;

/** Pixels of a Windows bitmap, which the library does not read: the plain forms, with 24 or 32 bits a pixel. Throws for others. */
export function readBitmap(
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
