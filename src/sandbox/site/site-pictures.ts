import sharp from "sharp";
import type { SiteDocument } from "./site-section.ts";
import { diceOf } from "./site-text.ts";

const made = new Map<string, Promise<Uint8Array>>();

/** `/images/figure-3.png`, `photo-1.jpg`, `logo.png`, `icon.png`: real pictures, each made once. undefined: no such picture. */
export async function pictureAt(path: string): Promise<SiteDocument | undefined> {
  const [, name = "", type = ""] = /^\/images\/(figure-\d|photo-\d|logo|icon)\.(png|jpg)$/.exec(path) ?? [];
  if (name === "") return undefined;
  let picture = made.get(path);
  if (!picture) {
    picture = draw(name, type);
    made.set(path, picture);
  }
  const bytes = await picture;
  const contentType = type === "jpg" ? "image/jpeg" : "image/png";
  return { kind: "document", contentType, validators: "both", body: () => bytes };
}

/** Noise over a gradient: nothing compresses it away, so it is as large as a photograph of its size. */
async function draw(name: string, type: string): Promise<Uint8Array> {
  const isSmall = name === "logo" || name === "icon";
  const [width, height] = isSmall ? [40, 40] : [320, 240];
  const dice = diceOf(name);
  const tint = [dice(), dice(), dice()];
  const pixels = Buffer.alloc(width * height * 3);
  for (let i = 0; i < pixels.length; i++) {
    const x = (Math.floor(i / 3) % width) / width;
    pixels[i] = Math.floor(200 * x * (tint[i % 3] ?? 0) + 40 * dice());
  }
  const image = sharp(pixels, { raw: { width, height, channels: 3 } });
  return await (type === "jpg" ? image.jpeg() : image.png()).toBuffer();
}
