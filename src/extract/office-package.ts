import { posix } from "node:path";
import { ExtractError } from "../contracts/document.ts";
import { decodeEntities } from "../lib/html-entities.ts";
import type { ByteSource } from "./byte-source.ts";
import { attribute, scanXml } from "./scan-xml.ts";
import { readZipParts } from "./zip.ts";

export interface OfficePackage {
  readonly parts: ReadonlyMap<string, Buffer>;
  /** The name of the part everything else hangs on. */
  readonly main: string;
}

const PARTS = /\.(?:xml|rels)$/i;

/** Parts of an Office document by name, each free of entities. `folders` says where text comes from. */
export function readPackage(source: ByteSource, { name, folders, maxBytes }: PackageKind): OfficePackage {
  const isWanted = (part: string): boolean =>
    PARTS.test(part) && (/^_rels\/|^docProps\//i.test(part) || folders.test(part));
  const parts = readZipParts(source, isWanted, maxBytes);
  for (const part of parts.values()) guardXml(part);
  const root = [...readRelationships(parts, "").values()].find(({ type }) => type === "officeDocument");
  if (!root || !parts.has(root.target)) throw new ExtractError("invalid_file", `The file is not ${name}.`);
  return { parts, main: root.target };
}

interface PackageKind {
  readonly name: string;
  readonly folders: RegExp;
  readonly maxBytes: number;
}

interface Relationship {
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

/** The title among the properties of an Office document, "" for none. */
export function coreTitle(core: Buffer | undefined): string {
  const xml = core?.toString("utf8", 0, 65_536) ?? "";
  return decodeEntities(/<dc:title[^>]{0,200}>([^<]{0,500})<\/dc:title>/.exec(xml)?.[1] ?? "").trim();
}

const DECLARATION = Buffer.from("<!DOCTYPE");
const ENTITY = Buffer.from("<!ENTITY");

/** Office documents never declare entities; one that does was made to make readers fetch files or fill memory. */
function guardXml(part: Buffer): void {
  if (part.includes(DECLARATION) || part.includes(ENTITY)) {
    throw new ExtractError("invalid_file", "The file is made to hurt: its XML declares entities of its own.");
  }
}
