import type { PageImage } from "../../contracts/web.ts";
import type { HtmlElement } from "../../lib/html/html-tree.ts";
import { isNoise } from "../../lib/html/is-noise.ts";
import { oncePer } from "../../lib/once-per.ts";
import { elementText, hasText, onOneLine } from "./element-text.ts";
import { imageSources } from "./image-source.ts";
import type { PageAddresses } from "./page-addresses.ts";

/** Of one page. Those that are looked at are more: most turn out to be repeated. */
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

// Of each element once: thousands of images may lie in it.
const captionIn = oncePer((figure: HtmlElement): string => {
  const caption = figure.children.find((child) => typeof child !== "string" && child.tag === "figcaption");
  return typeof caption === "object" ? elementText(caption, MAX_TEXT_LENGTH) : "";
});

const textOf = oncePer((paragraph: HtmlElement) => elementText(paragraph, MAX_TEXT_LENGTH));

/** Without scripts the content of `<noscript>` is part of the page. A style takes time to read. */
function isHidden(element: HtmlElement): boolean {
  if (element.tag === "noscript") return false;
  return element.attributes.has("style") ? isStyledNoise(element) : isNoise(element);
}

const isStyledNoise = oncePer(isNoise);
