import type { App } from "../../app/app.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { SearchablePlace } from "../../engine/searchable-documents.ts";
import { plainLabel } from "../../lib/text.ts";
import { formatDocumentUri, parseDocumentId, URI_PREFIX } from "./document-id.ts";
import { MAX_TEXT, type McpCall } from "./mcp-tools.ts";

const PAGE = 100;
const MEDIA_TYPE = "text/markdown";

export interface McpResource {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly mimeType: string;
  readonly annotations?: { readonly lastModified: string };
}

export const RESOURCE_TEMPLATE = {
  uriTemplate: `${URI_PREFIX}{domain}/{source}/{item}{?offset}`,
  name: "document",
  title: "A document",
  description: `The text of a document, at most ${MAX_TEXT} characters from the offset on.`,
  mimeType: MEDIA_TYPE,
};

/** Lists the documents of all domains, page by page. BadInputError for a cursor that is not valid, or not any more. */
export async function listResources(
  { searchableDocuments }: App,
  cursor: string | undefined,
): Promise<{ readonly resources: McpResource[]; readonly nextCursor?: string; readonly notes: readonly string[] }> {
  const from = cursor === undefined ? undefined : readCursor(cursor);
  const { documents, next, notes } = await searchableDocuments.list({ from, limit: PAGE });
  const resources = documents.map((document) => ({
    uri: formatDocumentUri(document),
    name: plainLabel(document.name || document.fileId),
    title: plainLabel(document.title),
    mimeType: MEDIA_TYPE,
    ...(document.modifiedAt !== "" && { annotations: { lastModified: document.modifiedAt } }),
  }));
  return { resources, ...(next && { nextCursor: writeCursor(next) }), notes };
}

/** NotFoundError if readers see no such document. A text that is only a part ends with a sentence that says so. */
export async function readResource(
  { searchableDocuments }: App,
  uri: string,
  call: McpCall,
): Promise<{ readonly uri: string; readonly mimeType: string; readonly text: string }> {
  const [id = "", query = ""] = uri.split("?", 2);
  const place = parseDocumentId(id);
  const offset = readOffset(query);
  const { part } = await searchableDocuments.read(place, { offset, limit: MAX_TEXT }, call);
  const end = part.offset + [...part.text].length;
  if (part.offset === 0 && end >= part.total) return { uri, mimeType: MEDIA_TYPE, text: part.text };
  const next = end < part.total ? ` The next part is ${formatDocumentUri(place)}?offset=${end}` : "";
  const note = `[lockstep: these are characters ${part.offset} to ${end} of ${part.total}.${next}]`;
  return { uri, mimeType: MEDIA_TYPE, text: `${part.text}\n\n${note}` };
}

function readOffset(query: string): number {
  if (query === "") return 0;
  const [, offset] = /^offset=(\d{1,9})$/.exec(query) ?? [];
  if (offset === undefined)
    throw new BadInputError("The address of a document may end in '?offset=' and a number, and in nothing else.");
  return Number(offset);
}

function writeCursor({ domainId, after }: SearchablePlace): string {
  return Buffer.from(JSON.stringify([domainId, ...(after === undefined ? [] : [after])])).toString("base64url");
}

function readCursor(cursor: string): SearchablePlace {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (Array.isArray(parts) && parts.length <= 2 && parts.every((part) => typeof part === "string")) {
      return { domainId: parts[0] as DomainId, after: parts[1] };
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new BadInputError("The cursor is not valid. List the documents from the beginning.");
}
