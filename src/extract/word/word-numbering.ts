import { attribute, scanXml } from "../office/scan-xml.ts";

/** Whether the items of a list at a level are counted; undefined when they have no mark at all. */
export type WordNumbering = (numberingId: string, level: number) => boolean | undefined;

export function readWordNumbering(part: Buffer | undefined): WordNumbering {
  /** Formats of the levels, by the id of their definition. */
  const definitions = new Map<string, Map<number, string>>();
  const definitionOf = new Map<string, string>();
  let definition = new Map<number, string>();
  let level = 0;
  let instance = "";
  scanXml(part?.toString("utf8") ?? "", {
    open(name, attributes) {
      if (name === "abstractNum") {
        definition = new Map();
        definitions.set(attribute(attributes, "w:abstractNumId"), definition);
      } else if (name === "lvl") level = Number(attribute(attributes, "w:ilvl"));
      else if (name === "numFmt") definition.set(level, attribute(attributes, "w:val"));
      else if (name === "num") instance = attribute(attributes, "w:numId");
      else if (name === "abstractNumId") definitionOf.set(instance, attribute(attributes, "w:val"));
    },
    close: () => undefined,
  });
  return (numberingId, wanted) => {
    const format = definitions.get(definitionOf.get(numberingId) ?? "")?.get(wanted);
    if (format === undefined || format === "none") return undefined;
    return format !== "bullet";
  };
}
