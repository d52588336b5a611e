import type { HtmlElement } from "../../lib/html/html-tree.ts";
import { oncePer } from "../../lib/once-per.ts";
import { trimEnd } from "../../lib/trim-end.ts";

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
export function imageSources(img: HtmlElement, picture: HtmlElement | undefined): readonly string[] {
  const { attributes } = img;
  const best = largestIn(sourceSets(img), picture ? largestOf(picture) : NONE);
  return [best.address, ...LAZY.map((name) => attributes.get(name) ?? ""), attributes.get("src") ?? ""].filter(
    (address) => address !== "" && !/^\s*data:/i.test(address),
  );
}

/** Once for each: it may hold thousands of images. */
const largestOf = oncePer((picture: HtmlElement) =>
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
