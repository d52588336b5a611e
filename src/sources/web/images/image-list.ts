import type { ItemId } from "../../../contracts/ids.ts";
import type { StoredImage } from "../../../contracts/web.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import type { Validators } from "./fetch-image.ts";

/** What the answer to one address was, so that "not modified" is enough next time. */
export interface AskedImage extends Validators {
  readonly url: string;
  /** The picture that stands for it: its own, or one that looks the same. "" when none is kept. */
  readonly imageId: string;
  /** Why it is not kept, for people; "" when it is. */
  readonly skipped: string;
}

export interface KeptImage extends StoredImage {
  readonly looksLike: string;
}

/** `images.json` of a page. */
export interface ImageList {
  /** Of the rules and the way pictures are made: what others left out or made is looked at again. */
  readonly revision: string;
  readonly images: readonly KeptImage[];
  readonly asked: readonly AskedImage[];
}

export const NO_IMAGES: ImageList = { revision: "", images: [], asked: [] };

export function formatImageList({ revision, images, asked }: ImageList): string {
  const list = {
    revision,
    images: images.map((image) => ({
      id: image.id,
      parent_page_id: image.parentPageId,
      parent_page_url: image.parentPageUrl,
      url: image.url,
      alt: image.alt,
      caption: image.caption,
      surroundings: image.surroundings,
      position: image.position,
      is_page_picture: image.isPagePicture,
      content_hash: image.contentHash,
      width: image.width,
      height: image.height,
      bytes: image.bytes,
      mime_type: image.mimeType,
      looks_like: image.looksLike,
    })),
    asked: asked.map(({ url, etag, lastModified, imageId, skipped }) => ({
      url,
      etag,
      last_modified: lastModified,
      image_id: imageId,
      skipped,
    })),
  };
  return `${JSON.stringify(list, null, 1)}\n`;
}

/** A list that cannot be read is none: the pictures can be fetched again. */
export function parseImageList(text: string): ImageList {
  const list = parseObject(text);
  const rows = (name: string): JsonObject[] => {
    const found = list[name];
    return Array.isArray(found) ? found.filter(isJsonObject) : [];
  };
  return {
    revision: textIn(list, "revision"),
    images: rows("images").map(readImage).filter(isSound),
    asked: rows("asked").map((row) => ({
      url: textIn(row, "url"),
      etag: textIn(row, "etag"),
      lastModified: textIn(row, "last_modified"),
      imageId: textIn(row, "image_id"),
      skipped: textIn(row, "skipped"),
    })),
  };
}

function readImage(row: JsonObject): KeptImage {
  return {
    id: textIn(row, "id"),
    parentPageId: textIn(row, "parent_page_id") as ItemId,
    parentPageUrl: textIn(row, "parent_page_url"),
    url: textIn(row, "url"),
    alt: textIn(row, "alt"),
    caption: textIn(row, "caption"),
    surroundings: textIn(row, "surroundings"),
    position: numberIn(row, "position"),
    isPagePicture: row["is_page_picture"] === true,
    contentHash: textIn(row, "content_hash"),
    width: numberIn(row, "width"),
    height: numberIn(row, "height"),
    bytes: numberIn(row, "bytes"),
    mimeType: textIn(row, "mime_type"),
    looksLike: textIn(row, "looks_like"),
  };
}

/** The id becomes a file name, the look a number. */
function isSound({ id, looksLike }: KeptImage): boolean {
  return /^img_[a-z2-7]{26}$/.test(id) && /^[0-9a-f]{16}$/.test(looksLike);
}

function parseObject(text: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(text);
    return isJsonObject(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

function textIn(row: JsonObject, name: string): string {
  const value = row[name];
  return typeof value === "string" ? value : "";
}

function numberIn(row: JsonObject, name: string): number {
  const value = row[name];
  return typeof value === "number" ? value : 0;
}
