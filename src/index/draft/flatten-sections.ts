import type { Section } from "../../contracts/document.ts";
import type { SectionRow } from "../storage/sections.ts";

/** The tree as rows in reading order, each naming the row above it by its position; storage knows no trees. */
export function flattenSections(root: Section): SectionRow[] {
  const rows: SectionRow[] = [];
  const walk = (section: Section, parent: number | null): void => {
    const position = rows.length;
    rows.push({ position, parent, heading: section.heading, level: section.level, content: section.content });
    for (const child of section.children) walk(child, position);
  };
  walk(root, null);
  return rows;
}
