import { posix } from "node:path";
import { attribute, scanXml } from "./scan-xml.ts";

export interface Relationship {
  /** The last word of its type: "slide", "notesSlide", "worksheet". */
  readonly type: string;
  /** The name of the part in the archive. */
  readonly target: string;
}

/** What a part refers to, by id. What lies outside the document is left out. */
export function readRelationships(parts: ReadonlyMap<string, Buffer>, part: string): Map<string, Relationship> {
  const { dir } = posix.parse(part);
  const found = new Map<string, Relationship>();
  for (const { id, type, target, isExternal } of entries(parts, part)) {
    if (!isExternal) found.set(id, { type, target: resolvePart(dir, target) });
  }
  return found;
}

/** Addresses that the links of a part lead to, by id. Nothing is fetched from them. */
export function readLinks(parts: ReadonlyMap<string, Buffer>, part: string): Map<string, string> {
  const links = entries(parts, part).filter(
    ({ type, target }) => type === "hyperlink" && /^(?:https?|mailto):/i.test(target),
  );
  return new Map(links.map(({ id, target }) => [id, target]));
}

interface Entry extends Relationship {
  readonly id: string;
  readonly isExternal: boolean;
}

function entries(parts: ReadonlyMap<string, Buffer>, part: string): Entry[] {
  const { dir, base } = posix.parse(part);
  const found: Entry[] = [];
  scanXml(parts.get(posix.join(dir, "_rels", `${base}.rels`))?.toString("utf8") ?? "", {
    open(name, attributes) {
      if (name !== "Relationship") return;
      found.push({
        id: attribute(attributes, "Id"),
        type: attribute(attributes, "Type").split("/").at(-1) ?? "",
        target: attribute(attributes, "Target"),
        isExternal: attribute(attributes, "TargetMode") === "External",
      });
    },
    close: () => undefined,
  });
  return found;
}

function resolvePart(folder: string, target: string): string {
  return (target.startsWith("/") ? posix.normalize(target) : posix.join(folder, target)).replace(/^\/+/, "");
}
