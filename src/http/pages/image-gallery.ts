import { html } from "hono/html";
import { imageAddress } from "../endpoints/item-codec.ts";
import type { Html } from "./layout.ts";
import { shownName } from "./shown-name.ts";

export interface ShownImage {
  readonly id: string;
  readonly alt: string;
  readonly caption: string;
  readonly parentPageId: string;
}

/** Pictures of a page, small; each opens as it is kept here. */
export function imageGallery(images: readonly ShownImage[]): Html {
  return html`<ul class="gallery">${images.map(({ id, alt, caption, parentPageId }) => {
    const words = shownName(alt || caption);
    return html`<li><figure><a href="${imageAddress(parentPageId, id, "full")}"><img src="${imageAddress(parentPageId, id, "thumbnail")}" alt="${words || "Picture without a description"}" loading="lazy" width="160" height="120"></a>${caption ? html`<figcaption><bdi>${shownName(caption)}</bdi></figcaption>` : ""}</figure></li>`;
  })}</ul>`;
}
