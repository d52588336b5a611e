import type { DocumentView, SectionsView, TreeDocument, VersionView } from "../../engine/documents.ts";
import type { FailureGroup, FailuresView } from "../../engine/failures.ts";
import type { OriginalFile, SearchableDocuments } from "../../engine/searchable-documents.ts";
import type { DifferentLine, Hunk } from "../../lib/line-difference.ts";

/** Field names are those of `manifest.json` and `metadata.json`. */
export type DocumentJson = ReturnType<typeof toDocumentJson>;
export type DocumentViewJson = ReturnType<typeof toDocumentViewJson>;
export type ReadJson = ReturnType<typeof toReadJson>;
export type VersionJson = ReturnType<typeof toVersionJson>;
export type SectionJson = ReturnType<typeof toSectionsJson>[number];
export type DifferenceJson = ReturnType<typeof toDifferenceJson>;

export function toDocumentJson({ sourceId, entry }: TreeDocument) {
  return {
    doc_id: entry.docId,
    source_id: sourceId,
    path: entry.path,
    status: entry.status,
    content_hash: entry.contentHash,
    size: entry.size,
    modified_time: entry.modifiedAt,
    last_seen: entry.lastSeenAt,
    retry_count: entry.retryCount,
    error: entry.error,
    missing_since: entry.missingSinceAt,
    missing_runs: entry.missingRuns,
    deleted_at: entry.deletedAt,
    versions: entry.versions.map(({ versionId, at, hash }) => ({ version_id: versionId, date: at, hash })),
    lineage: entry.lineage.map(({ event, from, certainty, at }) => ({ event, from, certainty, date: at })),
  };
}

export function toDocumentViewJson({ stored, versions, ...document }: DocumentView) {
  return {
    ...toDocumentJson(document),
    versions: versions.map(({ versionId, at, hash }) => ({ version_id: versionId, date: at, hash })),
    title: stored?.title ?? "",
    language: stored?.language ?? "",
    word_count: stored?.wordCount ?? 0,
    current_version: stored && stored.error === "" ? stored.versionId : "",
    text_error: stored?.error ?? "",
  };
}

export type FailuresJson = ReturnType<typeof toFailuresJson> & { readonly note?: string };

export function toFailuresJson({ domainId, sources, groups, acknowledged }: FailuresView) {
  const toGroup = ({ id, step, reason, remedy, failures }: FailureGroup) => ({
    group: id,
    step,
    reason,
    remedy,
    count: failures.length,
    items: failures.map((one) => ({
      source_id: one.sourceId,
      item_id: one.itemId,
      name: one.name,
      path: one.path,
      url: one.url,
      reason: one.reason,
      searchable: one.isSearchable,
      acknowledged_utc: one.acknowledgedAt,
    })),
  });
  return {
    domain_id: domainId,
    sources: sources.map(({ sourceId, reason, remedy }) => ({ source_id: sourceId, reason, remedy })),
    failed: groups.map(toGroup),
    acknowledged: acknowledged.map(toGroup),
  };
}

/** What a reader opens: the text, or a part of it, and what is known of the document. */
export function toReadJson(
  { document, part, freshness }: Awaited<ReturnType<SearchableDocuments["read"]>>,
  original: OriginalFile | undefined,
) {
  return {
    domain_id: document.domainId,
    source_id: document.sourceId,
    item_id: document.itemId,
    file_id: document.fileId,
    title: document.title,
    name: document.name,
    path: document.path,
    url: document.webUrl,
    file_type: document.fileType,
    language: document.language,
    modified_utc: document.modifiedAt,
    checked_utc: freshness.checkedAt,
    is_behind: freshness.isBehind,
    original: original ? { name: original.name, bytes: original.bytes } : null,
    passage: part.passage ?? null,
    offset: part.offset,
    total: part.total,
    text: part.text,
  };
}

/** `text` may be only the beginning. */
export function toVersionJson({ sourceId, entry, version }: VersionView, maxCharacters: number) {
  const { markdown } = version;
  return {
    doc_id: entry.docId,
    source_id: sourceId,
    path: version.path,
    version_id: version.versionId,
    date: version.at,
    hash: version.hash,
    title: version.title,
    language: version.language,
    word_count: version.wordCount,
    text: markdown.slice(0, maxCharacters),
    complete: markdown.length <= maxCharacters,
  };
}

/** Limits for a difference in a response. */
export interface DifferenceRoom {
  readonly characters: number;
  readonly lines: number;
}

/** `hunks` may be only the beginning. */
export function toDifferenceJson(
  { sourceId, entry, hunks }: TreeDocument & { readonly hunks: readonly Hunk[] },
  { from, to }: { readonly from: string; readonly to: string },
  room: DifferenceRoom,
) {
  const { shown, complete } = beginningOf(hunks, room);
  return {
    doc_id: entry.docId,
    source_id: sourceId,
    path: entry.path,
    from,
    to,
    hunks: shown.map(({ fromLine, toLine, lines }) => ({ from_line: fromLine, to_line: toLine, lines })),
    complete,
  };
}

/** Overhead of a line beside its text. */
const LINE_CHARACTERS = 32;

function beginningOf(
  hunks: readonly Hunk[],
  { characters, lines }: DifferenceRoom,
): { readonly shown: readonly Hunk[]; readonly complete: boolean } {
  const shown: Hunk[] = [];
  for (const hunk of hunks) {
    const fitting: DifferentLine[] = [];
    for (const line of hunk.lines) {
      characters -= line.text.length + LINE_CHARACTERS;
      lines -= 1;
      if (characters < 0 || lines < 0) {
        return { shown: fitting.length > 0 ? [...shown, { ...hunk, lines: fitting }] : shown, complete: false };
      }
      fitting.push(line);
    }
    shown.push(hunk);
  }
  return { shown, complete: true };
}

/** Field names are those of the specification of sections. The content of the last ones may be only the beginning. */
export function toSectionsJson({ document, sections }: SectionsView, maxCharacters: number) {
  let room = maxCharacters;
  return sections.map(({ id, parentId, position, heading, level, content }) => {
    const shown = content.slice(0, Math.max(0, room));
    room -= content.length;
    return {
      id,
      document_id: document.fileId,
      parent_section_id: parentId,
      position,
      heading,
      level,
      content: shown,
      complete: shown.length === content.length,
    };
  });
}
