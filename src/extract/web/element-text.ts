import { BLOCK_TAGS, type HtmlElement, isNoise } from "../../lib/html.ts";

/** Nodes that are visited for the first words of an element. */
const MAX_NODES = 50;

/** Text of an element on one line, cut at `maxLength` characters. Of a large element only the beginning is looked at. */
export function elementText(element: HtmlElement, maxLength: number): string {
  const parts: string[] = [];
  let left = maxLength * 4 + 100;
  const collect = ({ children }: HtmlElement): void => {
    for (const child of children) {
      if (left <= 0) return;
      left -= 1;
      if (typeof child === "string") {
        parts.push(child.slice(0, left));
        left -= child.length;
      } else if (!isNoise(child)) {
        if (BLOCK_TAGS.has(child.tag) || child.tag === "br") parts.push(" ");
        collect(child);
      }
    }
  };
  collect(element);
  return onOneLine(parts.join(""), maxLength);
}

/** Cut between two characters, never inside one. */
export function onOneLine(text: string, maxLength: number): string {
  const line = text
    .slice(0, maxLength * 4)
    .replaceAll(/[\u00ad\u200b\ufeff]/g, "")
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return line.length <= maxLength
    ? line
    : line
        .slice(0, maxLength)
        .replace(/[\ud800-\udbff]$/, "")
        .trimEnd();
}

/** Whether there are words near the beginning of the element. */
export function hasText(element: HtmlElement): boolean {
  let visited = 0;
  const found = ({ children }: HtmlElement): boolean =>
    children.some((child) => {
      visited += 1;
      if (visited > MAX_NODES) return false;
      return typeof child === "string" ? /\S/.test(child) : found(child);
    });
  return found(element);
}
