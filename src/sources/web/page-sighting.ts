import type { IngestItem } from "../../contracts/registry.ts";
import type { Sighting } from "../../contracts/source.ts";
import { fileTypeOf } from "../../lib/file-type.ts";

/** Extensions that tell how a page is made, not what is in it. */
const PAGE_EXTENSION = /\.(html?|xhtml|php\d?|aspx?|jsp)$/i;
const QUERY_CHARACTERS = 80;

/** An item of the registry as sources list it. Its document is in the mirror under a name that people recognise. */
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
    url: asAnswered(item.normalizedSource, item),
    rawUrl: asAnswered(item.displaySource, item),
    documentType,
    form: "document",
    fingerprint: {
      size: 0,
      modifiedAt: modifiedAt(item),
      etag: "",
      contentVersion: `${contentHash}#${item.processedGeneration}`,
    },
    dateIsLabel: true,
  };
}

/** Both spellings of a slash at the end are one item, and not to every server: a link has the one that answered. */
function asAnswered(address: string, { type, foundSource }: IngestItem): string {
  if (type !== "url" || !URL.parse(foundSource)?.pathname.endsWith("/")) return address;
  return address.replace(/^[^?]*[^/?](?=\?|$)/, "$&/");
}

/** When nobody says, or says a time that was still to come: when we saw it change. */
function modifiedAt({ type, file, content, scheduling }: IngestItem): string {
  const { lastChanged, lastChecked } = scheduling;
  const own = type === "file" ? file.lastModified : content.modifiedAt;
  return own !== "" && own <= lastChecked ? own : lastChanged;
}

/** `docs.example.com/guide/install.md` for `https://docs.example.com/guide/install.html`; `index.md` for the front page. */
export function pagePath({ normalizedSource, displaySource, sourceHost, content }: IngestItem): string {
  const { pathname, search } = new URL(normalizedSource);
  // Paths of files name no host.
  const host = /^[^:]+:\/\/([^/?#]*)/.exec(displaySource)?.[1] ?? sourceHost;
  const folders = pathname.split("/").slice(1).map(readable);
  const page = (folders.pop() ?? "").replace(PAGE_EXTENSION, "") || "index";
  const query = search === "" ? "" : `_${readable(search.slice(1)).slice(0, QUERY_CHARACTERS)}`;
  return [host, ...folders, withType(page + query, content.documentType)].join("/");
}

function withType(name: string, documentType: string): string {
  return documentType === "" || fileTypeOf(name) === documentType ? name : `${name}.${documentType}`;
}

/** What would make two parts or two lines of one, or turn the order of letters around. */
const UNREADABLE = /[/\\\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** One part of a path. A slash that was escaped is part of a name, and stays one. */
function readable(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    // Escapes that are none stay as they are.
  }
  return text.replaceAll(UNREADABLE, "_");
}
