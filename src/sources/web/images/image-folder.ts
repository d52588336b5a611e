import { rm } from "node:fs/promises";
import { join } from "node:path";
import { readFileIfExists, writeFileAtomic } from "../../../lib/atomic-file.ts";
import { namesIn } from "../../../lib/names-in.ts";
import { isOlder } from "../documents/remove-old-files.ts";
import type { ItemName } from "../item-name.ts";
import { formatImageList, type ImageList, type KeptImage, NO_IMAGES, parseImageList } from "./image-list.ts";
import type { Picture } from "./make-picture.ts";

const LIST = "images.json";
/** Nobody takes that long over a page. */
const SPARED_MS = 3_600_000;

/**
 * The pictures of one page. Files are named after their content and never change, and the list is replaced last: whenever the
 * process ends, the list names files that are there. Somebody else may be at the same page, and the last list stays: what it
 * names and they removed is noticed, and what they are adding is spared. What no list names leaves later.
 */
export class ImageFolder {
  readonly #path: string;
  /** Names that lists and pictures of ours brought here: these are ours to remove. */
  readonly #ours = new Set<string>();

  constructor(root: string, { name, key }: ItemName) {
    this.#path = join(root, key.slice(0, 2), name);
  }

  async readList(): Promise<ImageList> {
    const text = await readFileIfExists(join(this.#path, LIST));
    return text ? parseImageList(text.toString()) : NO_IMAGES;
  }

  /** What is there of a list; the addresses of what is not have to be asked anew. */
  async readWhole(): Promise<ImageList> {
    const { revision, images, asked } = await this.readList();
    for (const name of images.flatMap(filesOf)) this.#ours.add(name);
    const names = new Set(await namesIn(this.#path));
    const lost = new Set(
      images.filter((image) => !filesOf(image).every((name) => names.has(name))).map(({ id }) => id),
    );
    return {
      revision,
      images: images.filter(({ id }) => !lost.has(id)),
      asked: asked.map((one) => (lost.has(one.imageId) ? { ...one, etag: "", lastModified: "" } : one)),
    };
  }

  async addPicture(id: string, picture: Picture): Promise<void> {
    for (const name of filesOf({ id, mimeType: picture.mimeType })) this.#ours.add(name);
    await writeFileAtomic(join(this.#path, fileName(id, picture.mimeType)), picture.bytes);
    await writeFileAtomic(join(this.#path, thumbnailName(id)), picture.thumbnail);
  }

  /** What this folder read or added and `list` does not name leaves at once. */
  async replaceList(list: ImageList): Promise<void> {
    await writeFileAtomic(join(this.#path, LIST), formatImageList(list));
    const named = new Set([LIST, ...list.images.flatMap(filesOf)]);
    for (const name of await namesIn(this.#path)) {
      if (named.has(name)) continue;
      const path = join(this.#path, name);
      if (this.#ours.has(name) || (await isOlder(path, new Date(Date.now() - SPARED_MS))))
        await rm(path, { force: true });
    }
  }

  async readFull(id: string, mimeType: string): Promise<Uint8Array | undefined> {
    return await readFileIfExists(join(this.#path, fileName(id, mimeType)));
  }

  async readThumbnail(id: string): Promise<Uint8Array | undefined> {
    return await readFileIfExists(join(this.#path, thumbnailName(id)));
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true, recursive: true });
  }
}

function filesOf({ id, mimeType }: Pick<KeptImage, "id" | "mimeType">): string[] {
  return [fileName(id, mimeType), thumbnailName(id)];
}

function fileName(id: string, mimeType: string): string {
  return `${id}.${mimeType === "image/png" ? "png" : "jpg"}`;
}

function thumbnailName(id: string): string {
  return `${id}.thumbnail.jpg`;
}
