import type { VisitOptions } from "../../contracts/web.ts";
import { isSameSite, MAX_ADDRESS_CHARACTERS } from "../../plan/web/item-identity.ts";
import type { TrailStop } from "./fetch-page.ts";
import type { HostHabits } from "./host-probes.ts";
import type { VisitorParts } from "./page-visitor.ts";
import { type PageReading, readPage } from "./read-page.ts";
import { askPage, isReadAlike, type PageFailure, type PageStop, type PageUnchanged, stopAt } from "./request-page.ts";

/** A page that was read, or is as it was. */
type HeardPage = PageReading | PageUnchanged;

/** What becomes the document of a page, with the page's own title and validators. */
export interface TakenDocument extends Pick<PageReading, "http" | "content" | "raw" | "remark"> {
  /** undefined: as it was. */
  readonly document: Uint8Array | undefined;
  /** undefined: the page was not read, and has those it had. */
  readonly images: PageReading["images"] | undefined;
}

export type Preferred =
  | {
      readonly kind: "taken";
      /** undefined: nothing is new. */
      readonly reading: TakenDocument | undefined;
      /** The address of the Markdown, which is the page's from now on. */
      readonly variant: TrailStop | undefined;
      /** What the Markdown links to; undefined: it was not read. */
      readonly links?: readonly string[];
    }
  /** The Markdown that was the document of a page that is as it was has left. */
  | { readonly kind: "to be read" }
  | PageFailure;

/** Takes a page's Markdown where the site has it: where the page says, where it was the last time, or beside the page. */
export async function preferMarkdown(
  stop: PageStop,
  heard: HeardPage,
  habits: HostHabits | undefined,
  parts: VisitorParts,
  { force, signal }: VisitOptions,
): Promise<Preferred> {
  const page = heard.kind === "read" ? heard : undefined;
  const asItIs = { kind: "taken", reading: page, variant: undefined } as const;
  const address = page ? await findVariant(stop, page, habits, signal) : stop.item.http.variantUrl;
  if (!address) return asItIs;
  const variant = await stopAt(address, parts, stop.look.at);
  if (variant.id === stop.id) return asItIs;
  const { item } = variant;
  const wasTaken = item.aliasOf === stop.id;
  const isKept = wasTaken && item.content.contentHash === stop.item.content.contentHash && isReadAlike(item, parts);
  const answer = await askPage(variant, parts, { unconditional: force || stop.look.isForced || !isKept, signal });
  if (answer.kind === "unchanged" && !answer.noindex) {
    const content = { ...stop.item.content, ...(page && { foundTitle: page.content.foundTitle }) };
    const reading = page && { ...page, content, document: undefined };
    return { kind: "taken", reading, variant: { stop: variant, http: { ...answer.http, canonicalUrl: stop.url } } };
  }
  const read = answer.kind === "body" ? await readPage(answer.response, variant, parts, { signal }) : answer;
  // A document that comes and goes with every hiccup would be indexed each time.
  if (read.kind === "failed" && !read.isLasting && wasTaken) return read;
  const isTaken = read.kind === "read" && !read.isHtml && read.content.documentType === "md" && read.noindex === "";
  if (!isTaken) return page ? asItIs : { kind: "to be read" };
  const { foundTitle, language, modifiedAt, modifiedFrom } = (page ?? stop.item).content;
  const content = {
    ...read.content,
    foundTitle: foundTitle || read.content.foundTitle,
    language: language || read.content.language,
    ...(page && modifiedAt !== "" && { modifiedAt, modifiedFrom }),
  };
  const { document, raw } = read;
  const { http, images, remark } = page ?? { http: heard.http, images: undefined, remark: "" };
  return {
    kind: "taken",
    reading: { document, raw, content, http, images, remark },
    variant: { stop: variant, http: { ...read.http, canonicalUrl: stop.url }, content: read.content },
    links: read.links,
  };
}

async function findVariant(
  { url, item }: PageStop,
  { page, isHtml }: PageReading,
  habits: HostHabits | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (!isHtml || !page) return "";
  const named = page.markdownVariant;
  if (named !== "" && named.length < MAX_ADDRESS_CHARACTERS && isSameSite(named, url)) return named;
  return item.http.variantUrl || ((await habits?.markdownOf(url, signal)) ?? "");
}
