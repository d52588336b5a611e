import type { QuerySource } from "../engine/query.ts";

/**
 * Returns an address of a search result that opens in a browser: the source's own, or this server's page of the document, at the
 * passage. `origin` is where the receiver reaches this server (`Call.origin`); "" for links on our own pages.
 */
export function openableUrl(
  { webUrl, attributes, fileId, text }: Pick<QuerySource, "webUrl" | "attributes" | "fileId" | "text">,
  origin: string,
): string {
  if (webUrl !== "") return webUrl;
  const [domainId, sourceId, itemId] = ["domain_id", "source_id", "item_id"].map((key) => attributes[key]?.toString());
  const page = fileAddress("version", { domainId, sourceId, itemId });
  // Files of other clients and single files have no page of their own, so their bytes are what opens.
  return origin + (page ? page + passageFragment(text) : `/openai/v1/files/${encodeURIComponent(fileId)}/content`);
}

interface FileName {
  readonly domainId: string | undefined;
  readonly sourceId: string | undefined;
  readonly itemId: string | undefined;
}

/**
 * Returns the page for a file that a browser cannot open by its own address: its stored text (`version`), or its history (`get`). undefined
 * for items of other sources.
 */
export function fileAddress(page: "get" | "version", { domainId, sourceId, itemId }: FileName): string | undefined {
  if (!domainId || !sourceId || !itemId?.startsWith("doc_")) return undefined;
  const query = new URLSearchParams({ domain_id: domainId, source_id: sourceId, document: itemId, format: "html" });
  return `/v2/documents/${page}?${query}`;
}

/** Enough words to be found once, few enough to stay readable. */
const FRAGMENT_WORDS = 8;
const FEWEST_WORDS = 3;

/**
 * Returns a text fragment, with which browsers scroll to a passage and mark it, on any page and without a script. Takes the first words in
 * a row that have no Markdown between them, so that they are the same on a page that shows the text rendered.
 */
function passageFragment(text: string): string {
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(?:#{1,6}\s|\||<!--|```)/.test(line)) continue;
    for (const [plain] of line.matchAll(/[\p{L}\p{N}][\p{L}\p{M}\p{N} ,.;:'’"()%€$–-]*/gu)) {
      const words = plain.trim().split(/\s+/).slice(0, FRAGMENT_WORDS);
      if (words.length < FEWEST_WORDS) continue;
      // A hyphen has a meaning of its own there.
      const found = encodeURIComponent(words.join(" ").toWellFormed())
        .replaceAll("-", "%2D")
        .replace(/[()']/g, encodeCharacter);
      return `#:~:text=${found}`;
    }
  }
  return "";
}

function encodeCharacter(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
