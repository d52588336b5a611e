import { mediaTypeOf } from "../../media-type.ts";
import { parseBlocks } from "../../seed/text-blocks.ts";
import { writeDocx } from "../../seed/write-docx.ts";
import { writePdf } from "../../seed/write-pdf.ts";
import { editedWord, listed } from "../render-page.ts";
import type { MakeSection, SiteDocument } from "../site-section.ts";
import { diceOf, paragraph } from "../site-text.ts";

const WRITERS: Readonly<Record<string, (markdown: string) => string | Uint8Array>> = {
  txt: (markdown) => markdown,
  md: (markdown) => markdown,
  pdf: (markdown) => writePdf(parseBlocks(markdown), "Leaflet"),
  docx: (markdown) => writeDocx(parseBlocks(markdown), "Leaflet"),
};

/** Links to what is no page: documents, and an archive that nobody can read. */
export const files: MakeSection = () => ({
  name: "files",
  entrances: [...Object.keys(WRITERS), "zip"].map((type) => `/files/leaflet.${type}`),
  pages: () => Object.keys(WRITERS).map((type) => listed(`/files/leaflet.${type}`, `crane${type}`)),
  answer({ path, revision, note }): SiteDocument | undefined {
    const type = /^\/files\/leaflet\.(\w+)$/.exec(path)?.[1] ?? "";
    const write = type === "zip" ? () => Buffer.from("PK\u0003\u0004 no real archive") : WRITERS[type];
    if (!write) return undefined;
    const word = editedWord(`crane${type}`, revision);
    const text = `# Leaflet\n\nThe part number is ${word}.\n\n${paragraph(diceOf(word), 80)}\n${note && `\n${note}\n`}`;
    return { kind: "document", contentType: mediaTypeOf(path), validators: "both", body: () => write(text) };
  },
});
