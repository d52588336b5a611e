import { ExtractError } from "../contracts/document.ts";
import type { ByteSource } from "./byte-source.ts";
import type { ReadText } from "./formats.ts";
import type { ExtractLimits } from "./limits.ts";
import { coreTitle } from "./office/core-title.ts";
import { type OfficePackage, readPackage } from "./office/read-package.ts";
import { readRelationships } from "./office/relationships.ts";
import { attribute, scanXml } from "./office/scan-xml.ts";
import { readSlide } from "./office/slide-text.ts";

/** One section per slide, in the order they are shown, with the notes of the speaker; a slide counts as a page. */
export function extractPptx(source: ByteSource, { maxUnpackedBytes }: ExtractLimits): ReadText {
  const kind = {
    name: "a PowerPoint presentation",
    folders: /^ppt\/(?:_rels\/|presentation\.xml$|slides\/|notesSlides\/|diagrams\/data)/i,
    maxBytes: maxUnpackedBytes,
  };
  const presentation = readPackage(source, kind);
  const slides = slideNames(presentation).map((name) => slideSection(presentation, name));
  if (slides.length === 0) throw new ExtractError("invalid_file", "The presentation has no slides.");
  if (!slides.some(({ hasText }) => hasText)) {
    throw new ExtractError("invalid_file", "The presentation has no text: its slides are probably pictures.");
  }
  const blocks = slides.map(({ title, body }, at) => {
    const heading = `## ${title || `Slide ${at + 1}`}`;
    return [`<!-- page ${at + 1} -->`, heading, ...body].join("\n\n");
  });
  const title = coreTitle(presentation.parts.get("docProps/core.xml"));
  const isTelling = title !== "" && !/^(?:powerpoint|pr[äe]sentation|présentation|untitled)\b/i.test(title);
  return { title: isTelling ? title : (slides[0]?.title ?? ""), markdown: blocks.join("\n\n") };
}

function slideNames({ parts, main }: OfficePackage): string[] {
  const relationships = readRelationships(parts, main);
  const names: string[] = [];
  scanXml(parts.get(main)?.toString("utf8") ?? "", {
    open(name, attributes) {
      const target = name === "sldId" ? relationships.get(attribute(attributes, "r:id"))?.target : undefined;
      if (target !== undefined && parts.has(target)) names.push(target);
    },
    close: () => undefined,
  });
  return names;
}

interface SlideSection {
  readonly title: string;
  readonly body: readonly string[];
  readonly hasText: boolean;
}

function slideSection({ parts }: OfficePackage, name: string): SlideSection {
  const { title, blocks } = readSlide(parts.get(name)?.toString("utf8") ?? "");
  const linked = [...readRelationships(parts, name).values()];
  const textOf = (wanted: string): string[] =>
    linked
      .filter(({ type }) => type === wanted)
      .flatMap(({ target }) => readSlide(parts.get(target)?.toString("utf8") ?? "").blocks);
  const body = [...blocks, ...textOf("diagramData")];
  const notes = textOf("notesSlide");
  if (notes.length > 0) body.push("### Notes", ...notes);
  return { title, body, hasText: title !== "" || body.length > 0 };
}
