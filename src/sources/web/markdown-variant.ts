import type { VisitOptions } from "../../contracts/web.ts";
import { isSameSite, MAX_ADDRESS_CHARACTERS } from "../../plan/web/item-identity.ts";
import type { RedirectHop } from "./fetch-page.ts";
import type { HostProbes } from "./host-probes.ts";
import { type PageReading, readPage } from "./read-page.ts";
import {
  isReadAlike,
  type PageFailure,
  type PageUnchanged,
  type ResolvedUrl,
  requestPage,
  resolveUrl,
  type VisitorParts,
} from "./request-page.ts";

/** A page that was read, or is unchanged. */
type KnownPage = PageReading | PageUnchanged;

/** The document of a page, with the page's own title and validators. */
export interface TakenDocument extends Pick<PageReading, "http" | "content" | "raw" | "remark"> {
  /** undefined: unchanged. */
  readonly document: Uint8Array | undefined;
  /** undefined: the page was not read, and keeps its images. */
  readonly images: PageReading["images"] | undefined;
}

export type Preferred =
  | {
      readonly kind: "taken";
      /** undefined: unchanged. */
      readonly reading: TakenDocument | undefined;
      /** The URL of the Markdown, which now belongs to the page. */
      readonly variant: RedirectHop | undefined;
      /** Links in the Markdown; undefined: it was not read. */
      readonly links?: readonly string[];
    }
  /** The page is unchanged, but its Markdown is gone: the page has to be read. */
  | { readonly kind: "to be read" }
  | PageFailure;

/** Uses the Markdown variant of a page if there is one: at the URL the page names, the one used last time, or beside the page. */
export async function preferMarkdown(
  resolved: ResolvedUrl,
  result: KnownPage,
  probes: HostProbes | undefined,
  parts: VisitorParts,
  { force, signal }: VisitOptions,
): Promise<Preferred> {
  const page = result.kind === "read" ? result : undefined;
  const asItIs = { kind: "taken", reading: page, variant: undefined } as const;
  const address = page ? await findVariant(resolved, page, probes, signal) : resolved.item.http.variantUrl;
  if (!address) return asItIs;
  const variant = await resolveUrl(address, parts, resolved.context.at);
  if (variant.id === resolved.id) return asItIs;
  const { item } = variant;
  const wasTaken = item.aliasOf === resolved.id;
  const isKept = wasTaken && item.content.contentHash === resolved.item.content.contentHash && isReadAlike(item, parts);
  const answer = await requestPage(variant, parts, {
    unconditional: force || resolved.context.isForced || !isKept,
    signal,
  });
  if (answer.kind === "unchanged" && !answer.noindex) {
    const content = { ...resolved.item.content, ...(page && { foundTitle: page.content.foundTitle }) };
    const reading = page && { ...page, content, document: undefined };
    return {
      kind: "taken",
      reading,
      variant: { resolved: variant, http: { ...answer.http, canonicalUrl: resolved.url } },
    };
  }
  const read = answer.kind === "body" ? await readPage(answer.response, variant, parts, { signal }) : answer;
  // Otherwise the document would be indexed again with each temporary failure.
  if (read.kind === "failed" && !read.isLasting && wasTaken) return read;
  const isTaken = read.kind === "read" && !read.isHtml && read.content.documentType === "md" && read.noindex === "";
  if (!isTaken) return page ? asItIs : { kind: "to be read" };
  const { foundTitle, language, modifiedAt, modifiedFrom } = (page ?? resolved.item).content;
  const content = {
    ...read.content,
    foundTitle: foundTitle || read.content.foundTitle,
    language: language || read.content.language,
    ...(page && modifiedAt !== "" && { modifiedAt, modifiedFrom }),
  };
  const { document, raw } = read;
  const { http, images, remark } = page ?? { http: result.http, images: undefined, remark: "" };
  return {
    kind: "taken",
    reading: { document, raw, content, http, images, remark },
    variant: { resolved: variant, http: { ...read.http, canonicalUrl: resolved.url }, content: read.content },
    links: read.links,
  };
}

async function findVariant(
  { url, item }: ResolvedUrl,
  { page, isHtml }: PageReading,
  probes: HostProbes | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (!isHtml || !page) return "";
  const named = page.markdownVariant;
  if (named !== "" && named.length < MAX_ADDRESS_CHARACTERS && isSameSite(named, url)) return named;
  return item.http.variantUrl || ((await probes?.markdownOf(url, signal)) ?? "");
}
