import type { TextReader } from "../../contracts/document.ts";
import { BadInputError, RemoteError } from "../../contracts/errors.ts";
import type { ContentState, IngestItem, Registry } from "../../contracts/registry.ts";
import type { FileVisitor, Visit, VisitOptions, WebDocuments } from "../../contracts/web.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { contentDigest, textDigest } from "../../lib/hash.ts";
import { identifyFile } from "../../plan/web/item-identity.ts";
import type { CheckPolicy } from "../../plan/web/item-state.ts";
import {
  afterFailure,
  afterFound,
  afterMissing,
  afterRefusal,
  beginVisit,
  type VisitContext,
} from "../../plan/web/item-transitions.ts";
import { isUnknownType, mediaTypeOf } from "../web/content-type.ts";
import { updateItem } from "../web/update-item.ts";
import type { FileReader, FileResult } from "./file-reader.ts";

export interface FileVisitorParts {
  readonly disk: FileReader;
  readonly blobs: FileReader;
  readonly registry: Registry;
  readonly documents: WebDocuments;
  readonly texts: TextReader;
  readonly policy: CheckPolicy;
  /** Extensions, without dot, of files that are read. */
  readonly acceptedTypes: ReadonlySet<string>;
  readonly maxBytes: number;
  readonly now?: () => Date;
}

/** Visits files and blobs that were registered one by one, and updates their registry records. */
export function createFileVisitor(parts: FileVisitorParts): FileVisitor {
  const now = parts.now ?? (() => new Date());
  const visit = (item: IngestItem, options: VisitOptions): Promise<Visit> => visitFile(item, options, parts, now());
  return {
    async check(source) {
      const reason = await readerOf(source, parts).refusal(source);
      if (reason) throw new BadInputError(reason);
    },
    visit,
    async document(item, signal) {
      const stored = await parts.documents.get(item.id, item.content.contentHash);
      if (stored) return stored;
      const { outcome, item: found, reason } = await visit(item, { force: true, signal });
      if (outcome === "failed" || outcome === "missing") throw new RemoteError(`read ${item.displaySource}: ${reason}`);
      if (outcome === "gone" || outcome === "refused") return undefined;
      return await parts.documents.get(found.id, found.content.contentHash);
    },
  };
}

function readerOf(source: string, { disk, blobs }: FileVisitorParts): FileReader {
  return /^https?:/i.test(source) ? blobs : disk;
}

async function visitFile(given: IngestItem, options: VisitOptions, parts: FileVisitorParts, at: Date): Promise<Visit> {
  const { registry, documents, policy } = parts;
  const { dryRun = false } = options;
  const registered = await registry.get(given.id);
  const known = registered?.item ?? given;
  const context = beginVisit(known, at, options);
  const documentType = typeOf(known);
  const result = await readItem(known, documentType, { ...options, force: options.force || context.isForced }, parts);
  if (result.kind === "read" && !dryRun) await documents.put(known.id, result.bytes);
  const content = result.kind === "read" ? await contentOf(result, known, documentType, parts, options.signal) : {};
  const resolved = { id: known.id, identity: identifyFile(known.foundSource), registered, context };
  const { before, item } = await updateItem(
    resolved,
    (now) => updatedItem(now, context, result, content, policy),
    parts,
    {
      dryRun,
    },
  );
  return {
    outcome: outcomeOf(result, before, item),
    item,
    aliases: [],
    links: new Map(),
    feeds: [],
    reason: reasonOf(result, item),
  };
}

async function readItem(
  item: IngestItem,
  documentType: string,
  { force, signal }: VisitOptions,
  parts: FileVisitorParts,
): Promise<FileResult> {
  if (!parts.acceptedTypes.has(documentType)) {
    const reason = documentType
      ? `Files of type '${documentType}' are not accepted.`
      : "Its name has no extension, so its type is unknown.";
    return { kind: "refused", reason };
  }
  const isKnown = item.content.contentHash !== "" && item.content.readerRevision === parts.texts.revision;
  const etag = force || !isKnown ? "" : item.file.etag;
  return await readerOf(item.foundSource, parts).read({
    source: item.foundSource,
    etag,
    // Records of earlier versions have none.
    device: item.file.device ?? "",
    maxBytes: parts.maxBytes,
    signal,
  });
}

/** Returns the type by the displayed name, which is unescaped. */
function typeOf({ displaySource }: IngestItem): string {
  return fileTypeOf(displaySource.slice(displaySource.lastIndexOf("/") + 1));
}

/** Extracts the text again only if content, type or reader changed. */
async function contentOf(
  { bytes, file }: Extract<FileResult, { kind: "read" }>,
  { content: known }: IngestItem,
  documentType: string,
  { texts }: FileVisitorParts,
  signal: AbortSignal,
): Promise<Partial<ContentState>> {
  const contentHash = contentDigest(bytes);
  const mimeType = isUnknownType(file.contentType) ? mediaTypeOf(documentType) || file.contentType : file.contentType;
  const content = { contentHash, mimeType, documentType, readerRevision: texts.revision };
  const isRead = known.contentHash === contentHash && known.readerRevision === texts.revision;
  if (isRead && known.documentType === documentType) return content;
  const text = await texts.read(bytes, documentType, signal);
  const { title: foundTitle = "", language = "" } = text ?? {};
  return { ...content, foundTitle, language, textHash: text ? textDigest(text.markdown) : "" };
}

function updatedItem(
  item: IngestItem,
  context: VisitContext,
  result: FileResult,
  content: Partial<ContentState>,
  policy: CheckPolicy,
): IngestItem {
  switch (result.kind) {
    case "read":
    case "unchanged":
      return afterFound(item, context, { file: result.file, content }, policy);
    case "missing":
      return afterMissing(item, context, 0, policy);
    case "refused":
      return afterRefusal(item, context, { why: "other", reason: result.reason }, policy);
    case "failed":
      return afterFailure(item, context, result, policy);
  }
}

function outcomeOf({ kind }: FileResult, before: IngestItem, item: IngestItem): Visit["outcome"] {
  if (kind === "refused" || kind === "failed") return kind;
  if (kind === "missing") return item.status === "Gone" ? "gone" : "missing";
  if (before.content.contentHash === "") return "new";
  return before.content.contentHash === item.content.contentHash ? "unchanged" : "changed";
}

function reasonOf(result: FileResult, item: IngestItem): string {
  return "reason" in result ? result.reason : result.kind === "missing" ? item.scheduling.errorMessage : "";
}
