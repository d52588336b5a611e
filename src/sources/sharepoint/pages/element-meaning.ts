import type { HtmlElement } from "../../../lib/html/html-tree.ts";

const MEANING_OF_ROLE: Readonly<Record<string, string>> = {
  table: "table",
  grid: "table",
  row: "tr",
  cell: "td",
  gridcell: "td",
  columnheader: "th",
  rowheader: "th",
  list: "ul",
  listitem: "li",
};

/** What an element is, going by its role where its tag says nothing. */
export function meaningOf({ tag, attributes }: HtmlElement): string {
  if (tag === "menu" || tag === "dir") return "ul";
  const role = tag === "div" ? (attributes.get("role") ?? "") : "";
  if (role !== "heading") return Object.hasOwn(MEANING_OF_ROLE, role) ? (MEANING_OF_ROLE[role] ?? tag) : tag;
  const level = attributes.get("aria-level") ?? "";
  return /^[1-6]$/.test(level) ? `h${level}` : "h2";
}

/** As attributes, with a leading blank. */
export function spansOf({ attributes }: HtmlElement): string {
  return ["colspan", "rowspan"]
    .map((name) => [name, attributes.get(name) ?? ""] as const)
    .filter(([, value]) => /^\d{1,3}$/.test(value) && Number(value) > 1)
    .map(([name, value]) => ` ${name}="${Number(value)}"`)
    .join("");
}
