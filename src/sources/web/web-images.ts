import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ItemId } from "../../contracts/ids.ts";
import type { IngestItem } from "../../contracts/registry.ts";
import {
  BodyError,
  type PageImage,
  type StoredImage,
  type WebClient,
  type WebImages,
  type WebResponse,
} from "../../contracts/web.ts";
import { readFileIfExists, writeFileAtomic } from "../../lib/atomic-file.ts";
import { createKeyedMutex, forEachConcurrent } from "../../lib/concurrency.ts";
import { namesIn } from "../../lib/file-system.ts";
import { contentDigest } from "../../lib/hash.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { shortHash, shownAddress } from "../../plan/web/item-identity.ts";
import { followRedirects } from "./follow-redirects.ts";
import {
  hammingDistance,
  type ImageRules,
  makePicture,
  PICTURE_REVISION,
  type Picture,
  seemsDecoration,
} from "./make-picture.ts";
import { checkedItemName, type ItemName, isOlder, itemName } from "./web-documents.ts";

export function createWebImages(options: {
  readonly folder: string;
  readonly client: WebClient;
  readonly rules: ImageRules;
}): WebImages {
  const { folder: root, client, rules } = options;
  const revision = `${PICTURE_REVISION} ${JSON.stringify(rules)}`;
  const withLock = createKeyedMutex();
  const folderOf = (id: string): ImageFolder => new ImageFolder(root, checkedItemName(id));
  return {
    async replace(page, images, signal) {
      const folder = folderOf(page.id);
      return await withLock(page.id, async () => {
        const known = await folder.readWhole();
        const found = await new ImageGatherer({ client, rules, folder, page, known, revision }).gather(images, signal);
        if (found.asked.length === 0) await folder.remove();
        else await folder.replaceList(found);
        return found.images.length;
      });
    },

    async of(page) {
      const name = itemName(page);
      if (!name) return [];
      const { images } = await new ImageFolder(root, name).readList();
      return images.map(({ looksLike: _, ...image }) => image);
    },

    async read(page, image, size) {
      const name = itemName(page);
      if (!name) return undefined;
      const folder = new ImageFolder(root, name);
      // Only ids from the list become paths.
      const found = (await folder.readList()).images.find(({ id }) => id === image);
      if (!found) return undefined;
      const mimeType = size === "full" ? found.mimeType : "image/jpeg";
      const bytes = await (size === "full" ? folder.readFull(found.id, mimeType) : folder.readThumbnail(found.id));
      return bytes && { bytes, mimeType };
    },

    async delete(page) {
      const folder = folderOf(page);
      await withLock(page, () => folder.remove());
    },
  };
}

const MAX_IMAGES = 40;
const CONCURRENCY = 4;
/** Largest difference in bits between the perceptual hashes of two images that look the same. */
const SAME_PICTURE_BITS = 5;

interface GathererParts {
  readonly client: WebClient;
  readonly rules: ImageRules;
  readonly folder: ImageFolder;
  readonly page: IngestItem;
  /** The list of the previous visit. */
  readonly known: ImageList;
  readonly revision: string;
}

interface ImageOutcome {
  readonly asked: ImageRequest;
  readonly stored: HashedImage | undefined;
}

/** Downloads the images of a page and adds new ones to its folder. */
class ImageGatherer {
  readonly #parts: GathererParts;
  readonly #images: ReadonlyMap<string, HashedImage>;
  readonly #requests: ReadonlyMap<string, ImageRequest>;

  constructor(parts: GathererParts) {
    this.#parts = parts;
    this.#images = new Map(parts.known.images.map((image) => [image.id, image]));
    this.#requests = new Map(parts.known.asked.map((asked) => [asked.url, this.#asCurrent(asked)]));
  }

  async gather(images: readonly PageImage[], signal: AbortSignal): Promise<ImageList> {
    const wanted = images.filter(({ url, isPagePicture }) => isPagePicture || !seemsDecoration(url));
    const outcomes = new Map<PageImage, ImageOutcome>();
    await forEachConcurrent(wanted.slice(0, MAX_IMAGES), CONCURRENCY, async (image) => {
      const answer = await this.#fetch(image, signal);
      if (answer) outcomes.set(image, answer);
    });
    const inOrder = wanted.flatMap((image) => outcomes.get(image) ?? []);
    return { revision: this.#parts.revision, ...withoutRepeats(inOrder) };
  }

  /** Drops the validators of a list made under other rules, so that each image is downloaded again. */
  #asCurrent(asked: ImageRequest): ImageRequest {
    return this.#isCurrent ? asked : { ...asked, etag: "", lastModified: "" };
  }

  get #isCurrent(): boolean {
    return this.#parts.known.revision === this.#parts.revision;
  }

  /** Requests the URL as the page has it and records it without secrets. Returns undefined if it failed and was not known before. */
  async #fetch(found: PageImage, signal: AbortSignal): Promise<ImageOutcome | undefined> {
    const url = shownAddress(found.url);
    const image = { ...found, url };
    const before = this.#requests.get(url);
    const validators = { etag: before?.etag ?? "", lastModified: before?.lastModified ?? "" };
    const answer = await fetchImage(this.#parts.client, found.url, validators, signal);
    if (answer.kind === "none") {
      return { asked: { url, etag: "", lastModified: "", imageId: "", skipped: answer.reason }, stored: undefined };
    }
    if (answer.kind !== "fetched") {
      return before && { asked: before, stored: this.#asOnPage(image, this.#images.get(before.imageId)) };
    }
    const made = await this.#store(image, answer.bytes);
    return "skipped" in made
      ? { asked: { url, ...answer.validators, imageId: "", skipped: made.skipped }, stored: undefined }
      : { asked: { url, ...answer.validators, imageId: made.id, skipped: "" }, stored: made };
  }

  /** Updates what the page says about a stored image. */
  #asOnPage(image: PageImage, stored: HashedImage | undefined): HashedImage | undefined {
    return stored && { ...stored, ...image, parentPageUrl: this.#parts.page.foundSource };
  }

  async #store(image: PageImage, bytes: Uint8Array): Promise<HashedImage | { readonly skipped: string }> {
    const { page, rules, folder } = this.#parts;
    const id = `img_${shortHash(bytes)}`;
    const known = this.#isCurrent ? this.#asOnPage(image, this.#images.get(id)) : undefined;
    if (known) return known;
    const picture = await makePicture(bytes, rules);
    if ("skipped" in picture) return picture;
    await folder.addPicture(id, picture);
    return {
      ...image,
      id,
      parentPageId: page.id,
      parentPageUrl: page.foundSource,
      contentHash: contentDigest(bytes),
      width: picture.width,
      height: picture.height,
      bytes: picture.bytes.length,
      mimeType: picture.mimeType,
      looksLike: picture.looksLike,
    };
  }
}

/** Merges images that look alike: the first one stays and takes missing texts from the others. */
function withoutRepeats(outcomes: readonly ImageOutcome[]): Pick<ImageList, "images" | "asked"> {
  const images: HashedImage[] = [];
  const asked = outcomes.map(({ asked: answer, stored }) => {
    if (!stored) return answer;
    const at = images.findIndex(({ looksLike }) => hammingDistance(looksLike, stored.looksLike) <= SAME_PICTURE_BITS);
    const first = images[at];
    if (!first) {
      images.push(stored);
      return answer;
    }
    const { alt, caption, surroundings } = stored;
    images[at] = {
      ...first,
      alt: first.alt || alt,
      caption: first.caption || caption,
      surroundings: first.surroundings || surroundings,
    };
    return { ...answer, imageId: first.id };
  });
  return { images, asked };
}

const MAX_IMAGE_BYTES = 15 * 1024 * 1024;
const ACCEPT = "image/jpeg, image/png, image/webp, image/gif, image/tiff, image/bmp;q=0.8, image/*;q=0.5";

interface Validators {
  readonly etag: string;
  readonly lastModified: string;
}

type FetchedImage =
  | { readonly kind: "fetched"; readonly bytes: Uint8Array; readonly validators: Validators }
  | { readonly kind: "unchanged" }
  /** Permanent. */
  | { readonly kind: "none"; readonly reason: string }
  /** Temporary. */
  | { readonly kind: "failed" };

/** Follows redirects; the validators are those of the final URL. Throws only when cancelled. */
async function fetchImage(
  client: WebClient,
  url: string,
  known: Validators,
  signal: AbortSignal,
): Promise<FetchedImage> {
  const { answer } = await followRedirects(url, (at) =>
    client.send({ url: at, method: "GET", ...known, accept: ACCEPT, maxBytes: MAX_IMAGE_BYTES, signal }),
  );
  if (answer.kind === "unavailable") return { kind: "failed" };
  if (answer.kind === "refused") return { kind: "none", reason: answer.reason };
  if (answer.status === 200) return await bodyOf(answer);
  await answer.cancel();
  return answer.status === 304 ? { kind: "unchanged" } : { kind: "none", reason: `the answer was ${answer.status}` };
}

async function bodyOf(answer: WebResponse): Promise<FetchedImage> {
  const { headers } = answer;
  const validators = { etag: headers.get("etag") ?? "", lastModified: headers.get("last-modified") ?? "" };
  try {
    return { kind: "fetched", bytes: await answer.body(), validators };
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    return error.why === "unavailable" ? { kind: "failed" } : { kind: "none", reason: error.message };
  }
}

const LIST = "images.json";
/** A visit takes less than this; newer files may belong to one in another process. */
const RECENT_MS = 3_600_000;

/**
 * The stored images of one page. Files are named by their content and never change, and the list is written last: after a
 * crash, every file it names exists. Another process may visit the same page, and the last list wins. `readWhole` notices
 * files that the other process removed; recent files that it may still add are spared. Unlisted files are removed later.
 */
class ImageFolder {
  readonly #path: string;
  /** Files this process read from the list or added: it may remove them. */
  readonly #ours = new Set<string>();

  constructor(root: string, { name, key }: ItemName) {
    this.#path = join(root, key.slice(0, 2), name);
  }

  async readList(): Promise<ImageList> {
    const text = await readFileIfExists(join(this.#path, LIST));
    return text ? parseImageList(text.toString()) : NO_IMAGES;
  }

  /** Returns the images whose files exist, and drops the validators of the others, so that they are downloaded again. */
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
      asked: asked.map((request) => (lost.has(request.imageId) ? { ...request, etag: "", lastModified: "" } : request)),
    };
  }

  async addPicture(id: string, picture: Picture): Promise<void> {
    for (const name of filesOf({ id, mimeType: picture.mimeType })) this.#ours.add(name);
    await writeFileAtomic(join(this.#path, fileName(id, picture.mimeType)), picture.bytes);
    await writeFileAtomic(join(this.#path, thumbnailName(id)), picture.thumbnail);
  }

  /** Writes the list. Removes unlisted files that are ours or old. */
  async replaceList(list: ImageList): Promise<void> {
    await writeFileAtomic(join(this.#path, LIST), formatImageList(list));
    const named = new Set([LIST, ...list.images.flatMap(filesOf)]);
    for (const name of await namesIn(this.#path)) {
      if (named.has(name)) continue;
      const path = join(this.#path, name);
      if (this.#ours.has(name) || (await isOlder(path, new Date(Date.now() - RECENT_MS))))
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

function filesOf({ id, mimeType }: Pick<HashedImage, "id" | "mimeType">): string[] {
  return [fileName(id, mimeType), thumbnailName(id)];
}

function fileName(id: string, mimeType: string): string {
  return `${id}.${mimeType === "image/png" ? "png" : "jpg"}`;
}

function thumbnailName(id: string): string {
  return `${id}.thumbnail.jpg`;
}

/** The response to one image URL; its validators make a 304 possible next time. */
interface ImageRequest extends Validators {
  readonly url: string;
  /** The stored image: its own, or one that looks the same. "" for none. */
  readonly imageId: string;
  /** Why it is not stored, for users; "" if it is. */
  readonly skipped: string;
}

interface HashedImage extends StoredImage {
  readonly looksLike: string;
}

/** `images.json` of a page. */
interface ImageList {
  /** Revision of rules and conversion. After a change, every image is downloaded and judged again. */
  readonly revision: string;
  readonly images: readonly HashedImage[];
  readonly asked: readonly ImageRequest[];
}

const NO_IMAGES: ImageList = { revision: "", images: [], asked: [] };

function formatImageList({ revision, images, asked }: ImageList): string {
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

/** An unreadable list counts as empty: the images can be downloaded again. */
function parseImageList(text: string): ImageList {
  const list = parseJsonObject(text) ?? {};
  const rows = (name: string): JsonObject[] => {
    const found = list[name];
    return Array.isArray(found) ? found.filter(isJsonObject) : [];
  };
  return {
    revision: textIn(list, "revision"),
    images: rows("images").map(readImage).filter(isValid),
    asked: rows("asked").map((row) => ({
      url: textIn(row, "url"),
      etag: textIn(row, "etag"),
      lastModified: textIn(row, "last_modified"),
      imageId: textIn(row, "image_id"),
      skipped: textIn(row, "skipped"),
    })),
  };
}

function readImage(row: JsonObject): HashedImage {
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

/** Whether `id` is safe as a file name and `looksLike` is a hash. */
function isValid({ id, looksLike }: HashedImage): boolean {
  return /^img_[a-z2-7]{26}$/.test(id) && /^[0-9a-f]{16}$/.test(looksLike);
}

function textIn(row: JsonObject, name: string): string {
  const value = row[name];
  return typeof value === "string" ? value : "";
}

function numberIn(row: JsonObject, name: string): number {
  const value = row[name];
  return typeof value === "number" ? value : 0;
}
