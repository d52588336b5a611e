import { decodeEntities } from "../../lib/html/entities.ts";

/** The title among the properties of an Office document, "" for none. */
export function coreTitle(core: Buffer | undefined): string {
  const xml = core?.toString("utf8", 0, 65_536) ?? "";
  return decodeEntities(/<dc:title[^>]{0,200}>([^<]{0,500})<\/dc:title>/.exec(xml)?.[1] ?? "").trim();
}
