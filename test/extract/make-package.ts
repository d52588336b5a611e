import { strToU8, zipSync } from "fflate";

const RELATIONSHIPS = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

export type Relation = readonly [id: string, type: string, target: string];

export function relations(...list: readonly Relation[]): string {
  const entries = list.map(
    ([id, type, target]) => `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="${RELATIONSHIPS}">${entries.join("")}</Relationships>`;
}

/** An Office document from its parts; `main` is the one everything hangs on. */
export function makePackage(main: string, parts: Readonly<Record<string, string | Uint8Array>>): Buffer {
  const all = { "_rels/.rels": relations(["rId1", "officeDocument", main]), ...parts };
  const bytes = Object.entries(all).map(([name, part]): [string, Uint8Array] => [
    name,
    typeof part === "string" ? strToU8(part) : part,
  ]);
  return Buffer.from(zipSync(Object.fromEntries(bytes)));
}

export function properties(title: string): string {
  return `<cp:coreProperties xmlns:cp="x" xmlns:dc="y"><dc:title>${title}</dc:title></cp:coreProperties>`;
}
