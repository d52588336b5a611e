import { ExtractError } from "../contracts/document.ts";
import type { ByteSource } from "./byte-source.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { firstHeading } from "./markdown.ts";
import { coreTitle } from "./office/core-title.ts";
import { type OfficePackage, readPackage } from "./office/read-package.ts";
import { readLinks, readRelationships } from "./office/relationships.ts";
import { attribute, scanXml } from "./office/scan-xml.ts";
import { readWordNumbering } from "./word/word-numbering.ts";
import { type WordContext, WordReader } from "./word/word-reader.ts";
import { readWordStyles } from "./word/word-styles.ts";

/** Headings by style, lists, tables, links, and the notes behind the text. Headers, footers, comments and what was deleted are left out. */
export function extractDocx(source: ByteSource, { maxUnpackedBytes }: ExtractLimits): ReadText {
  const kind = {
    name: "a Word document",
    folders:
      /^word\/(?:_rels\/|document\d*\.xml$|styles\d*\.xml$|numbering\d*\.xml$|footnotes\d*\.xml$|endnotes\d*\.xml$)/i,
    maxBytes: maxUnpackedBytes,
  };
  const file = readPackage(source, kind);
  const notes: string[] = [];
  const context: WordContext = {
    styles: readWordStyles(partOf(file, "styles")),
    numbering: readWordNumbering(partOf(file, "numbering")),
    links: readLinks(file.parts, file.main),
    note: (type, id) => notes.push(`${type} ${id}`),
  };
  const text = readText(file.parts.get(file.main), context);
  const noteTexts = new Map([...readNotes(file, "footnote", context), ...readNotes(file, "endnote", context)]);
  const list = notes.map((note, at) => `${at + 1}. ${noteTexts.get(note) ?? ""}`).join("\n");
  const markdown = list ? `${text}\n\n${list}` : text;
  return { title: firstHeading(markdown) || coreTitle(file.parts.get("docProps/core.xml")), markdown };
}

function partOf({ parts, main }: OfficePackage, type: string): Buffer | undefined {
  const found = [...readRelationships(parts, main).values()].find((each) => each.type === type);
  return found && parts.get(found.target);
}

function readText(part: Buffer | undefined, context: WordContext): string {
  const reader = new WordReader(context);
  scanXml(part?.toString("utf8") ?? "", reader);
  if (reader.depth !== 0) throw new ExtractError("invalid_file", "The Word document is damaged and cannot be read.");
  return reader.take().markdown;
}

/** Texts of notes by kind and id. A note in a note is not followed. */
function readNotes(file: OfficePackage, kind: "footnote" | "endnote", context: WordContext): Map<string, string> {
  const notes = new Map<string, string>();
  const reader = new WordReader({ ...context, note: () => 0 });
  let id = "";
  scanXml(partOf(file, `${kind}s`)?.toString("utf8") ?? "", {
    open(name, attributes) {
      if (name === kind) id = attribute(attributes, "w:id");
      reader.open(name, attributes);
    },
    close(name) {
      reader.close(name);
      if (name === kind) notes.set(`${kind} ${id}`, reader.take().markdown.replaceAll(/\s*\n\s*/g, " "));
    },
    text: (text) => reader.text(text),
  });
  return notes;
}
