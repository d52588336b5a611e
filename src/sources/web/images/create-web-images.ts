import { hash } from "node:crypto";
import type { IngestItem } from "../../../contracts/registry.ts";
import type { PageImage, WebClient, WebImages } from "../../../contracts/web.ts";
import { forEachConcurrent } from "../../../lib/concurrency.ts";
import { createOneAtATime } from "../../../lib/one-at-a-time.ts";
import { shortHash } from "../../../plan/web/short-hash.ts";
import { shownAddress } from "../../../plan/web/web-identity.ts";
import { checkedItemName, itemName } from "../item-name.ts";
import { fetchImage } from "./fetch-image.ts";
import { ImageFolder } from "./image-folder.ts";
import type { AskedImage, ImageList, KeptImage } from "./image-list.ts";
import { type ImageRules, seemsDecoration } from "./image-rules.ts";
import { makePicture, PICTURE_REVISION } from "./make-picture.ts";
import { hammingDistance } from "./perceptual-hash.ts";

export function createWebImages(options: {
  readonly folder: string;
  readonly client: WebClient;
  readonly rules: ImageRules;
}): WebImages {
  const { folder: root, client, rules } = options;
  const revision = `${PICTURE_REVISION} ${JSON.stringify(rules)}`;
  const inTurn = createOneAtATime();
  const folderOf = (id: string): ImageFolder => new ImageFolder(root, checkedItemName(id));
  return {
    async replace(page, images, signal) {
      const folder = folderOf(page.id);
      return await inTurn(page.id, async () => {
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
      // Only what the list names becomes a path.
      const found = (await folder.readList()).images.find(({ id }) => id === image);
      if (!found) return undefined;
      const mimeType = size === "full" ? found.mimeType : "image/jpeg";
      const bytes = await (size === "full" ? folder.readFull(found.id, mimeType) : folder.readThumbnail(found.id));
      return bytes && { bytes, mimeType };
    },

    async delete(page) {
      const folder = folderOf(page);
      await inTurn(page, () => folder.remove());
    },
  };
}

const MAX_IMAGES = 40;
const AT_ONCE = 4;
/** Pictures of a page that differ in no more bits are the same to the eye. */
const SAME_LOOK_BITS = 5;

interface GathererParts {
  readonly client: WebClient;
  readonly rules: ImageRules;
  readonly folder: ImageFolder;
  readonly page: IngestItem;
  /** What an earlier look left. */
  readonly known: ImageList;
  readonly revision: string;
}

interface Answer {
  readonly asked: AskedImage;
  readonly kept: KeptImage | undefined;
}

/** Asks for the pictures of a page and adds the new ones to its folder. */
class ImageGatherer {
  readonly #parts: GathererParts;
  readonly #kept: ReadonlyMap<string, KeptImage>;
  readonly #asked: ReadonlyMap<string, AskedImage>;

  constructor(parts: GathererParts) {
    this.#parts = parts;
    this.#kept = new Map(parts.known.images.map((image) => [image.id, image]));
    this.#asked = new Map(parts.known.asked.map((asked) => [asked.url, this.#stillTrue(asked)]));
  }

  async gather(images: readonly PageImage[], signal: AbortSignal): Promise<ImageList> {
    const wanted = images.filter(({ url, isPagePicture }) => isPagePicture || !seemsDecoration(url));
    const answers = new Map<PageImage, Answer>();
    await forEachConcurrent(wanted.slice(0, MAX_IMAGES), AT_ONCE, async (image) => {
      const answer = await this.#look(image, signal);
      if (answer) answers.set(image, answer);
    });
    const inOrder = wanted.flatMap((image) => answers.get(image) ?? []);
    return { revision: this.#parts.revision, ...withoutRepeats(inOrder) };
  }

  /** Of a list that was made under other rules only the pictures count: each is asked for anew. */
  #stillTrue(asked: AskedImage): AskedImage {
    return this.#isCurrent ? asked : { ...asked, etag: "", lastModified: "" };
  }

  get #isCurrent(): boolean {
    return this.#parts.known.revision === this.#parts.revision;
  }

  /** Asks for the address as the page has it, and writes it down without secrets. undefined: nothing is known of it. */
  async #look(found: PageImage, signal: AbortSignal): Promise<Answer | undefined> {
    const url = shownAddress(found.url);
    const image = { ...found, url };
    const before = this.#asked.get(url);
    const validators = { etag: before?.etag ?? "", lastModified: before?.lastModified ?? "" };
    const answer = await fetchImage(this.#parts.client, found.url, validators, signal);
    if (answer.kind === "none") {
      return { asked: { url, etag: "", lastModified: "", imageId: "", skipped: answer.reason }, kept: undefined };
    }
    if (answer.kind !== "fetched") {
      return before && { asked: before, kept: this.#asOnPage(image, this.#kept.get(before.imageId)) };
    }
    const made = await this.#keep(image, answer.bytes);
    return "skipped" in made
      ? { asked: { url, ...answer.validators, imageId: "", skipped: made.skipped }, kept: undefined }
      : { asked: { url, ...answer.validators, imageId: made.id, skipped: "" }, kept: made };
  }

  /** The page may say something else about it now. */
  #asOnPage(image: PageImage, kept: KeptImage | undefined): KeptImage | undefined {
    return kept && { ...kept, ...image, parentPageUrl: this.#parts.page.foundSource };
  }

  async #keep(image: PageImage, bytes: Uint8Array): Promise<KeptImage | { readonly skipped: string }> {
    const { page, rules, folder } = this.#parts;
    const id = `img_${shortHash(bytes)}`;
    const known = this.#isCurrent ? this.#asOnPage(image, this.#kept.get(id)) : undefined;
    if (known) return known;
    const picture = await makePicture(bytes, rules);
    if ("skipped" in picture) return picture;
    await folder.addPicture(id, picture);
    return {
      ...image,
      id,
      parentPageId: page.id,
      parentPageUrl: page.foundSource,
      contentHash: `sha256:${hash("sha256", bytes)}`,
      width: picture.width,
      height: picture.height,
      bytes: picture.bytes.length,
      mimeType: picture.mimeType,
      looksLike: picture.looksLike,
    };
  }
}

/** The first of those that look alike stands for them, with what the others say about it where it says nothing. */
function withoutRepeats(answers: readonly Answer[]): Pick<ImageList, "images" | "asked"> {
  const images: KeptImage[] = [];
  const asked = answers.map(({ asked: answer, kept }) => {
    if (!kept) return answer;
    const at = images.findIndex(({ looksLike }) => hammingDistance(looksLike, kept.looksLike) <= SAME_LOOK_BITS);
    const first = images[at];
    if (!first) {
      images.push(kept);
      return answer;
    }
    const { alt, caption, surroundings } = kept;
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
