import type { HtmlElement } from "./html-tree.ts";

const NOISE_TAGS = new Set(
  `area audio base button canvas datalist dialog embed footer iframe input link map meta nav noscript object
param progress script search select source style svg template textarea track video`.split(/\s/),
);
const NOISE_ROLES = new Set(["navigation", "banner", "contentinfo", "search", "menu", "menubar", "dialog"]);

/** What nobody reads, or what every page of a site repeats: not content. */
export function isNoise(element: HtmlElement): boolean {
  const { tag, attributes } = element;
  if (NOISE_TAGS.has(tag)) return true;
  if (attributes.size === 0) return false;
  return NOISE_ROLES.has(attributes.get("role") ?? "") || isHidden(element);
}

export function isHidden({ attributes }: HtmlElement): boolean {
  if (attributes.size === 0) return false;
  if (attributes.has("hidden") && attributes.get("hidden") !== "until-found") return true;
  if (attributes.get("aria-hidden") === "true") return true;
  const style = attributes.get("style");
  return style !== undefined && /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(style.slice(0, 2000));
}
