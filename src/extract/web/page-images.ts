import type { PageImage } from "../../contracts/web.ts";
import { type HtmlElement, isNoise } from "../../lib/html.ts";
import { memoize } from "../../lib/once.ts";
import { trimEnd } from "../../lib/text.ts";
import { elementText, hasText, onOneLine } from "./element-text.ts";
import type { PageAddresses } from "./page-addresses.ts";

/** Images of a page, and images that are examined: most of these turn out to be repeated. */
const MAX_IMAGES = 500;
const MAX_LOOKS = 5000;
const MAX_TEXT_LENGTH = 300;

type FoundImage = { -readonly [Field in keyof PageImage]: PageImage[Field] };

/** Gathers the pictures of a page in the order in which they are met, each address once. */
export class PageImages {
  readonly #addresses: PageAddresses;
  readonly #byUrl = new Map<string, FoundImage>();
  #looks = 0;
  #paragraph: HtmlElement | undefined;
  /** Met before any paragraph: the first one is theirs. */
  #waiting: FoundImage[] = [];
  #pagePicture: FoundImage | undefined;

  constructor(addresses: PageAddresses) {
    this.#addresses = addresses;
  }

  get list(): readonly PageImage[] {
    return [...this.#byUrl.values()];
  }

  /** og:image, twitter:image. */
  addPagePicture(address: string): void {
    const image = this.#add([address.trim()]);
    if (image) image.isPagePicture = true;
    this.#pagePicture = image;
  }

  describePagePicture(alt: string): void {
    if (this.#pagePicture) this.#pagePicture.alt ||= onOneLine(alt, MAX_TEXT_LENGTH);
  }

  meetParagraph(paragraph: HtmlElement): void {
    if (!hasText(paragraph)) return;
    this.#paragraph = paragraph;
    if (this.#waiting.length === 0) return;
    for (const image of this.#waiting) image.surroundings ||= textOf(paragraph);
    this.#waiting = [];
  }

  /** `around` are the elements that the picture lies in, the outermost first. */
  meetImage(img: HtmlElement, around: readonly HtmlElement[]): void {
    this.#looks += 1;
    if (this.#looks > MAX_LOOKS || countsVisits(img) || isNoise(img)) return;
    if (around.some(isHidden)) return;
    const image = this.#add(
      imageSources(
        img,
        around.findLast(({ tag }) => tag === "picture"),
      ),
    );
    if (!image) return;
    image.alt ||= onOneLine(img.attributes.get("alt") ?? "", MAX_TEXT_LENGTH);
    image.caption ||= captionOf(around) || onOneLine(img.attributes.get("title") ?? "", MAX_TEXT_LENGTH);
    if (image.surroundings) return;
    const own = around.findLast(({ tag }) => tag === "p");
    image.surroundings = (own && textOf(own)) || (this.#paragraph ? textOf(this.#paragraph) : "");
    if (!image.surroundings) this.#waiting.push(image);
  }

  #add(sources: readonly string[]): FoundImage | undefined {
    for (const source of sources) {
      const url = this.#addresses.resolve(source)?.page;
      if (url === undefined) continue;
      const known = this.#byUrl.get(url);
      if (known || this.#byUrl.size >= MAX_IMAGES) return known;
      const image = { url, alt: "", caption: "", surroundings: "", position: this.#byUrl.size, isPagePicture: false };
      this.#byUrl.set(url, image);
      return image;
    }
    return undefined;
  }
}

/** A picture of one or two pixels is there to be requested, not to be seen. */
function countsVisits({ attributes }: HtmlElement): boolean {
  return [attributes.get("width"), attributes.get("height")].some((size) => /^\s*[012](?:px)?\s*$/.test(size ?? ""));
}

function captionOf(around: readonly HtmlElement[]): string {
  const figure = around.findLast(({ tag }) => tag === "figure");
  return figure ? captionIn(figure) : "";
}

// Cached for each element: it may have thousands of images.
const captionIn = memoize((figure: HtmlElement): string => {
  const caption = figure.children.find((child) => typeof child !== "string" && child.tag === "figcaption");
  return typeof caption === "object" ? elementText(caption, MAX_TEXT_LENGTH) : "";
});

const textOf = memoize((paragraph: HtmlElement) => elementText(paragraph, MAX_TEXT_LENGTH));

/** Without scripts the content of `<noscript>` is part of the page. A style takes time to read. */
function isHidden(element: HtmlElement): boolean {
  if (element.tag === "noscript") return false;
  return element.attributes.has("style") ? isStyledNoise(element) : isNoise(element);
}

const isStyledNoise = memoize(isNoise);

const MAX_SRCSET_LENGTH = 20_000;
/** Where scripts keep the address until the picture scrolls into view; `src` then holds a placeholder. */
const LAZY = ["data-src", "data-lazy-src", "data-original", "data-lazy"];
/** In `<source type>`: formats that are not kept, when the picture has others. */
const UNWANTED_TYPES = /^image\/(?:avif|jxl|heic|svg)/i;

interface Candidate {
  readonly address: string;
  readonly size: number;
}

const NONE: Candidate = { address: "", size: -1 };

/** Addresses of a picture as they are written, the best first. `picture` is the element around it, if there is one. */
function imageSources(img: HtmlElement, picture: HtmlElement | undefined): readonly string[] {
  const { attributes } = img;
  const best = largestIn(sourceSets(img), picture ? largestOf(picture) : NONE);
  return [best.address, ...LAZY.map((name) => attributes.get(name) ?? ""), attributes.get("src") ?? ""].filter(
    (address) => address !== "" && !/^\s*data:/i.test(address),
  );
}

/** Once for each: it may hold thousands of images. */
const largestOf = memoize((picture: HtmlElement) =>
  largestIn(
    picture.children.flatMap((child) => (typeof child === "string" ? [] : sourceSets(child))),
    NONE,
  ),
);

function sourceSets({ tag, attributes }: HtmlElement): string[] {
  if (tag !== "img" && tag !== "source") return [];
  if (UNWANTED_TYPES.test(attributes.get("type") ?? "")) return [];
  return [attributes.get("srcset") ?? "", attributes.get("data-srcset") ?? ""];
}

/** `a.jpg 300w, b.jpg 2x,c.jpg`: the one with the largest number, unless `best` has it. Addresses may contain commas. */
function largestIn(sets: readonly string[], best: Candidate): Candidate {
  return sets.flatMap(candidatesIn).reduce((largest, each) => (each.size > largest.size ? each : largest), best);
}

function candidatesIn(srcset: string): Candidate[] {
  const found: Candidate[] = [];
  const parts = srcset.slice(0, MAX_SRCSET_LENGTH).split(/\s+/).filter(Boolean).reverse();
  for (let address = parts.pop(); address !== undefined; address = parts.pop()) {
    if (address.endsWith(",")) {
      found.push({ address: trimEnd(address, ","), size: 0 });
      continue;
    }
    const [descriptor = "", ...rest] = (parts.pop() ?? "").split(",");
    // The next address may follow the comma without a blank.
    const next = rest.join(",");
    if (next) parts.push(next);
    found.push({ address, size: Number.parseFloat(descriptor) || 0 });
  }
  return found.filter(({ address }) => address !== "" && !/^data:/i.test(address));
}
