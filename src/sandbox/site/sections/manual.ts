import { editedWord, htmlDocument, listed, numbered } from "../render-page.ts";
import type { MakeSection, SiteDocument } from "../site-section.ts";
import { diceOf, heading, paragraph } from "../site-text.ts";

const CHAPTERS = 4;

/**
 * Chapters that come as HTML and as Markdown (`.md`, which the page names). `/llms.txt` lists the Markdown ones; the front
 * page links to the first HTML one, which links to the others.
 */
export const manual: MakeSection = () => ({
  name: "manual",
  alsoAt: ["llms.txt"],
  entrances: ["/manual/chapter-1"],
  pages: () => numbered(CHAPTERS, (i) => listed(`/manual/chapter-${i}`, `walrus${i}`, { depth: i === 1 ? 1 : 2 })),
  answer(asked): SiteDocument | undefined {
    if (asked.path === "/llms.txt") return markdown(() => llmsText(), "text/plain; charset=utf-8");
    const [, number = "", isMarkdown] = /^\/manual\/chapter-([1-4])(\.md)?$/.exec(asked.path) ?? [];
    if (number === "") return undefined;
    const word = `walrus${number}`;
    if (isMarkdown)
      return markdown(() => chapter(number, editedWord(word, asked.revision)), "text/markdown; charset=utf-8");
    return htmlDocument(
      {
        word,
        title: `Chapter ${number}`,
        head: `<link rel="alternate" type="text/markdown" href="/manual/chapter-${number}.md">`,
        links: numbered(CHAPTERS, (i) => `/manual/chapter-${i}`),
      },
      asked,
    );
  },
});

function markdown(body: () => string, contentType: string): SiteDocument {
  return { kind: "document", contentType, validators: "both", body };
}

function llmsText(): string {
  const lines = numbered(CHAPTERS, (i) => `- [Chapter ${i}](/manual/chapter-${i}.md): what it says`);
  return `# Tidewheel manual\n\n> How to keep a cargo bike.\n\n## Chapters\n\n${lines.join("\n")}\n`;
}

function chapter(number: string, word: string): string {
  const dice = diceOf(word);
  const parts = numbered(3, () => `## ${heading(dice)}\n\n${paragraph(dice, 60)}`);
  const links = numbered(CHAPTERS, (i) => `[Chapter ${i}](chapter-${i}.md)`);
  return `# Chapter ${number}\n\nThe part number is ${word}.\n\n${parts.join("\n\n")}\n\nSee ${links.join(", ")}.\n`;
}
