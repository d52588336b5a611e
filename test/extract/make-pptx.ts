import { makePackage, properties, type Relation, relations } from "./make-package.ts";

const NAMESPACES = 'xmlns:a="urn:a" xmlns:p="urn:p" xmlns:r="urn:r"';

export interface SlideRecipe {
  /** Shapes, made with `shape` and `slideTable`. */
  readonly shapes: string;
  readonly notes?: string;
  readonly diagram?: string;
}

/** `type` is the kind of placeholder, "" for a free text box. A paragraph may begin with tabs: its level. */
export function shape(type: string, ...paragraphs: readonly string[]): string {
  const placeholder = type ? `<p:nvPr><p:ph type="${type}"/></p:nvPr>` : "<p:nvPr/>";
  const texts = paragraphs.map((text) => {
    const level = /^\t*/.exec(text)?.[0].length ?? 0;
    return `<a:p><a:pPr lvl="${level}"/><a:r><a:t>${text.trim()}</a:t></a:r></a:p>`;
  });
  return `<p:sp><p:nvSpPr>${placeholder}</p:nvSpPr><p:txBody>${texts.join("")}</p:txBody></p:sp>`;
}

export function slideTable(rows: readonly (readonly string[])[]): string {
  const cell = (text: string): string => `<a:tc><a:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:txBody></a:tc>`;
  const lines = rows.map((row) => `<a:tr>${row.map(cell).join("")}</a:tr>`);
  return `<p:graphicFrame><a:tbl>${lines.join("")}</a:tbl></p:graphicFrame>`;
}

/** Slides are stored in the opposite order of how they are shown, as after much moving about. */
export function makePptx(slides: readonly SlideRecipe[], title = ""): Buffer {
  const parts: Record<string, string> = { "docProps/core.xml": properties(title) };
  const number = (at: number): number => slides.length - at;
  for (const [at, { shapes, notes, diagram }] of slides.entries()) {
    const name = `slide${number(at)}.xml`;
    parts[`ppt/slides/${name}`] = `<p:sld ${NAMESPACES}><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:sld>`;
    const links: Relation[] = [];
    if (notes) {
      links.push(["rId1", "notesSlide", `../notesSlides/notes${number(at)}.xml`]);
      const body = shape("sldImg") + shape("body", notes) + shape("sldNum", String(at + 1));
      parts[`ppt/notesSlides/notes${number(at)}.xml`] = `<p:notes ${NAMESPACES}>${body}</p:notes>`;
    }
    if (diagram) {
      links.push(["rId2", "diagramData", `../diagrams/data${number(at)}.xml`]);
      parts[`ppt/diagrams/data${number(at)}.xml`] =
        `<dgm:dataModel ${NAMESPACES} xmlns:dgm="urn:d"><dgm:pt><dgm:t><a:p><a:r><a:t>${diagram}</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>`;
    }
    parts[`ppt/slides/_rels/${name}.rels`] = relations(...links);
  }
  const ids = slides.map((_, at) => `<p:sldId id="${256 + at}" r:id="rId${at + 10}"/>`);
  parts["ppt/presentation.xml"] =
    `<p:presentation ${NAMESPACES}><p:sldIdLst>${ids.join("")}</p:sldIdLst></p:presentation>`;
  const targets = slides.map((_, at): Relation => [`rId${at + 10}`, "slide", `slides/slide${number(at)}.xml`]);
  parts["ppt/_rels/presentation.xml.rels"] = relations(...targets);
  return makePackage("ppt/presentation.xml", parts);
}
