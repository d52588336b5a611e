import { escapeXml } from "../sharepoint/odata/response.ts";
import type { SiteAsked, SiteDocument, SitePage } from "./site-section.ts";
import { diceOf, heading, paragraph } from "./site-text.ts";

interface PagePlan {
  readonly title: string;
  /** Stands in its text. */
  readonly word: string;
  /** Decides the rest of the text. */
  readonly textSeed: string;
  /** What somebody added to it. */
  readonly note: string;
  readonly links?: readonly string[];
  readonly navigation?: readonly string[];
  /** A picture's path. */
  readonly picture?: string;
  readonly head?: string;
  /** Further markup in the body. */
  readonly extra?: string;
  /** 1 is a page of some 300 words. */
  readonly length?: number;
}

const SECTIONS = 4;

export function renderPage(plan: PagePlan): string {
  const title = escapeXml(plan.title);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">${plan.head ?? ""}</head>
<body><header><a class="logo" href="/"><img src="/images/logo.png" alt="logo" width="40" height="40"></a>
<nav aria-label="Main"><ul>${listItems(plan.navigation ?? ["/"])}</ul></nav></header>
<main><article><h1>${title}</h1>
${renderText(plan)}${plan.extra ?? ""}${plan.note && `<p>${escapeXml(plan.note)}</p>`}</article>
${plan.links?.length ? `<section><h2>Read on</h2><ul>${listItems(plan.links)}</ul></section>` : ""}</main>
<footer><p>Tidewheel Cargo Bikes, Bremen. All rights reserved.</p></footer></body></html>
`;
}

function renderText({ word, textSeed, length = 1, picture }: PagePlan): string {
  const dice = diceOf(textSeed);
  const parts = [`<p>The part number is ${word}. ${paragraph(dice, 40)}</p>`];
  if (picture) {
    const caption = heading(dice);
    parts.push(
      `<figure><img src="${picture}" alt="${caption} of ${word}"><figcaption>${caption}</figcaption></figure>`,
    );
  }
  for (let i = 0; i < SECTIONS * length; i++) {
    parts.push(`<h2>${heading(dice)}</h2><p>${paragraph(dice, 40)}</p><p>${paragraph(dice, 25)}</p>`);
  }
  return parts.join("\n");
}

function listItems(links: readonly string[]): string {
  return links.map((link) => `<li><a href="${escapeXml(link)}">${escapeXml(label(link))}</a></li>`).join("");
}

function label(link: string): string {
  return link === "/" ? "Home" : link.slice(link.lastIndexOf("/") + 1) || link;
}

type PlanOf = Omit<PagePlan, "textSeed" | "title" | "note"> & { readonly title?: string };

/** An ordinary page whose text follows from its word and from how often it was edited. */
export function htmlDocument(
  { word: plainWord, ...plan }: PlanOf,
  { revision, note }: Pick<SiteAsked, "revision" | "note">,
  rest: Partial<Pick<SiteDocument, "contentType" | "validators" | "headers" | "delayMs">> = {},
): SiteDocument {
  const word = editedWord(plainWord, revision);
  return {
    kind: "document",
    contentType: "text/html; charset=utf-8",
    validators: "both",
    ...rest,
    body: () => renderPage({ title: `About ${plainWord}`, textSeed: word, ...plan, word, note }),
  };
}

/** What stands on a page after so many edits. */
export function editedWord(word: string, revision: number): string {
  return revision === 0 ? word : `${word}edition${revision}`;
}

/** A page that the front page links to. */
export function listed(path: string, word: string, rest: Partial<SitePage> = {}): SitePage {
  return { path, word, depth: 1, resends: "never", ...rest };
}

export function numbered<T>(count: number, make: (number: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i + 1));
}
