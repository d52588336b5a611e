import type { IngestItem } from "../../contracts/registry.ts";
import type { Sighting } from "../../contracts/source.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { endsInSlash, withSlash } from "../../plan/web/item-identity.ts";

/** Extensions that name the technology of a page, not its content. */
const PAGE_EXTENSION = /\.(html?|xhtml|php\d?|aspx?|jsp)$/i;
const QUERY_CHARACTERS = 80;

/** Returns the sighting of a registry item. Its path in the mirror is readable. */
export function sightingOf(item: IngestItem): Sighting {
  const path = pagePath(item);
  const { documentType, contentHash } = item.content;
  return {
    kind: "sighting",
    itemId: item.id,
    listItemId: 0,
    name: path.slice(path.lastIndexOf("/") + 1),
    path,
    serverPath: `/${path}`,
    url: asFound(item.normalizedSource, item),
    rawUrl: asFound(item.displaySource, item),
    documentType,
    form: "document",
    fingerprint: {
      size: 0,
      modifiedAt: modifiedAt(item),
      etag: "",
      // Changes with the content, and with every forced fetch (`processedGeneration` counts those, not generations of the index).
      contentVersion: `${contentHash}#${item.processedGeneration}`,
    },
    dateIsLabel: true,
  };
}

/** Returns the URL with a slash at its end if the one that responded has one: some servers accept only one spelling. */
function asFound(address: string, { type, foundSource }: IngestItem): string {
  if (type !== "url") return address;
  return endsInSlash(foundSource) ? withSlash(address) : address.replace(/^([^?]*)\/(?=\?|$)/, "$1");
}

/** Returns the modified time. If it is unknown or in the future, the time when we saw the change. */
function modifiedAt({ type, file, content, scheduling }: IngestItem): string {
  const { lastChanged, lastChecked } = scheduling;
  const own = type === "file" ? file.lastModified : content.modifiedAt;
  return own !== "" && own <= lastChecked ? own : lastChanged;
}

/** `docs.example.com/guide/install.md` for `https://docs.example.com/guide/install.html`; `index.md` for the front page. */
export function pagePath({ normalizedSource, displaySource, sourceHost, content }: IngestItem): string {
  const { pathname, search } = new URL(normalizedSource);
  // Paths of local files have no host.
  const host = /^[^:]+:\/\/([^/?#]*)/.exec(displaySource)?.[1] ?? sourceHost;
  const folders = pathname.split("/").slice(1).map(readableSegment);
  const page = (folders.pop() ?? "").replace(PAGE_EXTENSION, "") || "index";
  const query = search === "" ? "" : `_${readableSegment(search.slice(1)).slice(0, QUERY_CHARACTERS)}`;
  return [host, ...folders, withType(page + query, content.documentType)].join("/");
}

function withType(name: string, documentType: string): string {
  return documentType === "" || fileTypeOf(name) === documentType ? name : `${name}.${documentType}`;
}

/** Characters that would split a path or line, or reverse the direction of text. */
const UNREADABLE = /[/\\\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Decodes one segment of a path. An escaped slash becomes "_", so that it stays one segment. */
function readableSegment(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    // Invalid escapes stay.
  }
  return text.replaceAll(UNREADABLE, "_");
}
