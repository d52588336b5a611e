import { attribute, scanXml } from "../office/scan-xml.ts";

export interface WordStyle {
  /** 1 to 6, 0 for text. */
  readonly heading: number;
  readonly isQuote: boolean;
  /** Of the list its paragraphs belong to, "" for none. */
  readonly numberingId: string;
}

interface Written {
  name: string;
  basedOn: string;
  outline: number;
  numberingId: string;
}

const TEXT: WordStyle = { heading: 0, isQuote: false, numberingId: "" };
const MAX_ANCESTORS = 20;

/** Paragraph styles by id. Names are English whatever the language of Word; ids are not. */
export function readWordStyles(part: Buffer | undefined): Map<string, WordStyle> {
  const written = readWritten(part);
  return new Map([...written.keys()].map((id) => [id, resolve(id, written)]));
}

function readWritten(part: Buffer | undefined): Map<string, Written> {
  const styles = new Map<string, Written>();
  let style: Written | undefined;
  scanXml(part?.toString("utf8") ?? "", {
    open(name, attributes) {
      const value = (): string => attribute(attributes, "w:val");
      if (name === "style") {
        style = { name: "", basedOn: "", outline: -1, numberingId: "" };
        styles.set(attribute(attributes, "w:styleId"), style);
      } else if (!style) return;
      else if (name === "name") style.name = value();
      else if (name === "basedOn") style.basedOn = value();
      else if (name === "outlineLvl") style.outline = Number(value());
      else if (name === "numId") style.numberingId = value();
    },
    close(name) {
      if (name === "style") style = undefined;
    },
  });
  return styles;
}

/** What a style does not say it has from the one it is based on. */
function resolve(id: string, styles: ReadonlyMap<string, Written>): WordStyle {
  let { heading, isQuote, numberingId } = TEXT;
  let style = styles.get(id);
  for (let steps = 0; style && steps < MAX_ANCESTORS; steps += 1) {
    heading ||= headingLevel(style);
    isQuote ||= /^(?:intense )?quote$/i.test(style.name);
    numberingId ||= style.numberingId;
    style = styles.get(style.basedOn);
  }
  return { heading, isQuote, numberingId };
}

function headingLevel({ name, outline }: Written): number {
  if (/^title$/i.test(name)) return 1;
  const level = Number(/^heading ([1-9])$/i.exec(name)?.[1] ?? 0) || (outline >= 0 && outline < 9 ? outline + 1 : 0);
  return Math.min(level, 6);
}
