import type { FoundPassage } from "../../../contracts/domain-models.ts";
import { segments } from "../../../index/segments.ts";
import { logLine } from "../../../lib/text.ts";
import type { AnswerPart, UrlCitation } from "./answerer.ts";
import { inertMarkdown } from "./inert-markdown.ts";

/** A piece of the text, and what it cites, if anything. */
export interface CitedPiece {
  readonly text: string;
  readonly citation?: UrlCitation;
}

/**
 * Writes an answer with its sources: after each cited sentence the number of its source, and at the end a list of them, which
 * clients show that know nothing of annotations. One document is one source.
 */
export class CitedText {
  readonly citations: UrlCitation[] = [];
  readonly #passages: ReadonlyMap<string, FoundPassage>;
  readonly #numbered: boolean;
  readonly #notes: readonly string[];
  readonly #sources: FoundPassage[] = [];
  #text = "";

  /** `numbered: false`: only citations, for text that a program reads as JSON. `notes`: what could not be searched. */
  constructor(
    passages: readonly FoundPassage[],
    { numbered = true, notes = [] }: { readonly numbered?: boolean; readonly notes?: readonly string[] } = {},
  ) {
    this.#notes = notes;
    this.#passages = new Map(passages.map((passage) => [keyOf(passage), passage]));
    this.#numbered = numbered;
  }

  *add({ text, from }: AnswerPart): Generator<CitedPiece, void> {
    const passage = from && this.#passages.get(keyOf(from));
    if (!passage) return yield* this.#write(text);
    const said = text.trimEnd();
    const start = said === "" ? this.#startOfSentence() : this.#text.length + (/^\s*[-*] /.exec(said)?.[0].length ?? 0);
    yield* this.#write(said);
    const end = this.#text.trimEnd().length;
    const citation = {
      type: "url_citation",
      start_index: Math.min(start, end),
      end_index: end,
      ...asCited(passage),
    } as const;
    this.citations.push(citation);
    const number = this.#numberOf(passage);
    const mark = this.#numbered ? `${/\s$/.test(this.#text) ? "" : " "}[${number}]` : "";
    this.#text += mark;
    yield { text: mark, citation };
    yield* this.#write(text.slice(said.length));
  }

  /** The list of sources, unless nothing was cited, and what could not be searched. */
  *end(): Generator<CitedPiece, void> {
    if (!this.#numbered) return;
    if (this.#sources.length > 0) yield* this.#listSources();
    for (const note of this.#notes) yield* this.#write(`${this.#gap()}${inertMarkdown(logLine(note))}`);
  }

  *#listSources(): Generator<CitedPiece, void> {
    const lines = this.#sources.map(({ freshness, ...passage }, at) => {
      const { title, url } = asCited(passage);
      return `${at + 1}. [${title}](${url})${freshness ? `: ${freshness}` : ""}`;
    });
    yield* this.#write(`${this.#gap()}Sources:\n${lines.join("\n")}`);
  }

  #gap(): string {
    return this.#text.endsWith("\n\n") ? "" : this.#text.endsWith("\n") ? "\n" : "\n\n";
  }

  *#write(text: string): Generator<CitedPiece, void> {
    if (text === "") return;
    this.#text += text;
    yield { text };
  }

  /** Returns where the sentence begins that was written last; marks that stand behind it are no sentence. */
  #startOfSentence(): number {
    const line = this.#text.slice(this.#text.trimEnd().lastIndexOf("\n") + 1);
    const written = line.trimEnd();
    const offset = this.#text.length - line.length;
    let at = 0;
    let start = 0;
    for (const sentence of segments(written, "sentences")) {
      if (!/^\s*(?:\[\d+\]\s*)*[.!?…]*\s*$/.test(sentence)) start = at;
      at += sentence.length;
    }
    const marks =
      /^(?:\s*\[\d+\])*[.!?…]?\s*(?:[-*+] |\d{1,3}[.)] |#{1,6} )?/.exec(written.slice(start))?.[0].length ?? 0;
    return offset + start + marks;
  }

  #numberOf(passage: FoundPassage): number {
    const known = this.#sources.findIndex(({ fileId }) => fileId === passage.fileId);
    return known >= 0 ? known + 1 : this.#sources.push(passage);
  }
}

/** Clients send answers back. Titles in the list are words of documents, and a model is shown those inside marks only. */
export function withoutSources(answer: string): string {
  return answer.replace(/\n+Sources:\n1\. \[[\s\S]*$/, "");
}

function keyOf({ fileId, text }: Pick<FoundPassage, "fileId" | "text">): string {
  return `${fileId}\n${text}`;
}

/** Titles come from documents: in the list they must not become links, images or tags. Parentheses would end the address. */
function asCited({ title, url }: Pick<FoundPassage, "title" | "url">): { title: string; url: string } {
  const plain = logLine(title)
    .replaceAll(/[[\]<>`*_|\\!]/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return {
    title: plain || "Untitled",
    url: url.replace(/[()<>\s]/g, (one) => encodeURIComponent(one).replace("(", "%28").replace(")", "%29")),
  };
}
