import { ExtractError } from "../../contracts/document.ts";
import type { ByteSource } from "../byte-source.ts";
import { readZipParts } from "../zip.ts";
import { guardXml } from "./guard-xml.ts";
import { readRelationships } from "./relationships.ts";

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

export interface PackageKind {
  readonly name: string;
  readonly folders: RegExp;
  readonly maxBytes: number;
}
