import type { App } from "../../app/app.ts";
import type { StoredImage } from "../../contracts/web.ts";
import type { ItemView } from "../../engine/ingest/ingest.ts";
import type { QueryAnswer, QuerySource } from "../../engine/query.ts";
import type { FoundSourceType, SearchFilters } from "./function-search-values.ts";
import { toImageJson } from "./item-codec.ts";
import { registryView } from "./registry-view.ts";

/** A page or document with the passages of it that were found, best first. */
export interface FoundDocument {
  readonly passages: readonly [QuerySource, ...QuerySource[]];
  /** Of pages: what the registry knows of it. */
  readonly view: ItemView | undefined;
}

const SUMMARY_LENGTH = 150;
const MOST_IMAGES = 10;

/** In the order of their best passages. */
export async function findDocuments(
  app: App,
  { sources }: QueryAnswer,
  filters: SearchFilters,
): Promise<FoundDocument[]> {
  const byDocument = Map.groupBy(sources, ({ fileId }) => fileId);
  const found = await Promise.all(
    [...byDocument.values()].map(async ([first, ...more]): Promise<FoundDocument[]> => {
      if (first === undefined || !isAskedFor(first, filters)) return [];
      return [{ passages: [first, ...more], view: await registryView(app, first) }];
    }),
  );
  return found.flat();
}

/** What the index cannot tell everywhere: a host, and a single file from a page. */
export function isAskedFor(source: QuerySource, { sourceType, sourceHost }: SearchFilters): boolean {
  if (sourceType !== undefined && sourceTypeOf(source) !== sourceType) return false;
  return sourceHost === "" || hostOf(source.url) === sourceHost || URL.parse(source.url)?.hostname === sourceHost;
}

/** Files of this machine are of the host `file`, as the registry has it. */
function hostOf(address: string): string {
  const url = URL.parse(address);
  return url?.protocol === "file:" ? url.host || "file" : (url?.host ?? "");
}

export function toResultsJson(
  pages: readonly FoundDocument[],
  wish: { readonly contentTypes: readonly string[]; readonly nestImages: boolean },
): object[] {
  return pages.flatMap((page) => [
    ...(wish.contentTypes.includes("text") ? [toPageJson(page, wish.nestImages)] : []),
    ...(wish.contentTypes.includes("image") ? imagesOf(page).map((image) => toImageResultJson(page, image)) : []),
  ]);
}

function toPageJson(page: FoundDocument, nestImages: boolean): object {
  const [best, ...more] = page.passages;
  const text = [best, ...more].map((passage) => passage.text.trim()).join("\n\n");
  return {
    id: page.view?.item.id ?? best.fileId,
    score: best.score,
    type: "text",
    summary: summaryOf(best.text),
    url: best.url,
    content: { text, metadata: toMetadataJson(page) },
    ...(nestImages && { images: imagesOf(page).map(toImageJson) }),
  };
}

function toMetadataJson({ passages: [best], view }: FoundDocument): object {
  const item = view?.item;
  return {
    title: item?.title || item?.content.foundTitle || best.name,
    created: item?.scheduling.firstSeen ?? "",
    modified: best.modifiedAt,
    fileSize: item ? item.http.contentLength || item.file.length : 0,
    contentType: item?.content.mimeType ?? "",
    sourceContainer: best.attributes["source_id"] ?? "",
    sourceType: sourceTypeOf(best),
    sourceHost: item?.sourceHost || hostOf(best.url),
    language: item?.content.language || (best.details?.language ?? ""),
    section: best.sectionPath,
    fileId: best.fileId,
  };
}

/** Pages, files and blobs have ids of ours; where a file is, its address tells. */
function sourceTypeOf({ url, attributes, metadata }: QuerySource): FoundSourceType {
  const id = String(attributes["item_id"] ?? metadata?.["sharepoint_unique_file_id"]);
  if (id.startsWith("url_")) return "url";
  if (!/^(file|doc)_/.test(id)) return "sharepoint";
  return url.startsWith("file:") ? "file" : "blob";
}

function toImageResultJson({ passages: [best] }: FoundDocument, image: StoredImage): object {
  const { id, url, alt, caption, surroundings, mimeType, bytes, width, height, parentPageId, parentPageUrl } = image;
  const words = [alt, caption, surroundings].filter((part) => part !== "");
  return {
    id,
    score: best.score,
    type: "image",
    summary: summaryOf(alt || caption || surroundings),
    url,
    thumbnail: toImageJson(image).thumbnail,
    content: {
      text: words.join("\n"),
      metadata: {
        title: alt || caption,
        contentType: mimeType,
        fileSize: bytes,
        width,
        height,
        parentPageId,
        parentPageUrl,
        source: parentPageUrl,
      },
    },
  };
}

function imagesOf({ view }: FoundDocument): readonly StoredImage[] {
  return (view?.images ?? []).slice(0, MOST_IMAGES);
}

function summaryOf(text: string): string {
  const plain = text.replaceAll(/\s+/g, " ").trim();
  return plain.length > SUMMARY_LENGTH ? `${plain.slice(0, SUMMARY_LENGTH)}...` : plain;
}
