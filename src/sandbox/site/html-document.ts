import { type PagePlan, renderPage } from "./render-page.ts";
import type { SiteAsked, SiteDocument, SitePage } from "./site-section.ts";

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
