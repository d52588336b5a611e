import type { App } from "../../app/app.ts";
import type { QueryAnswer } from "../../engine/query.ts";
import { registryView } from "../endpoints/registry-view.ts";
import type { ShownImage } from "./image-gallery.ts";

/** Of a page in a list of results, at most so many. */
const MOST_PICTURES = 4;

/** What the registry knows of a web page that was found. */
export interface FoundPage {
  /** As the page calls itself, or whoever registered it. */
  readonly title: string;
  readonly address: string;
  readonly pictures: readonly ShownImage[];
}

/** By the id of the file. */
export type FoundPages = ReadonlyMap<string, FoundPage>;

export async function gatherPages(app: App, { sources }: QueryAnswer): Promise<FoundPages> {
  const documents = new Map(sources.map((source) => [source.fileId, source]));
  const pages = await Promise.all(
    [...documents].map(async ([fileId, source]): Promise<[string, FoundPage][]> => {
      const view = await registryView(app, source);
      if (!view) return [];
      const { displaySource: address, title, content } = view.item;
      const pictures = view.images.slice(0, MOST_PICTURES);
      return [[fileId, { title: title || content.foundTitle, address, pictures }]];
    }),
  );
  return new Map(pages.flat());
}
