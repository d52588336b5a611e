import { DIRECT_SOURCE } from "../../../index/shared-schema.ts";
import { withFileType } from "../../../lib/file-type.ts";
import { heldDocuments } from "../attach-files.ts";
import { findFiles, isDeleted } from "../catalog/files.ts";
import type { WireFile } from "../file-shelf.ts";
import type { WireContext } from "./wire-context.ts";
import { noSuchFile, notFound } from "./wire-error.ts";

/** Files on our shelf, ready to be read, each once. One that is not there refuses them all. */
export async function filesToAttach(context: WireContext, ids: readonly string[]): Promise<WireFile[]> {
  const { catalog, shelf } = context;
  const wanted = [...new Set(ids)];
  const uploaded = await findFiles(catalog, wanted);
  const types = await crawledTypes(context, [...uploaded.keys()]);
  const files: WireFile[] = [];
  for (const id of wanted) {
    const file = uploaded.get(id);
    if (file) {
      const filename = withFileType(file.filename, types.get(id) ?? "");
      files.push({ ...file, filename, path: shelf.pathOf(id) });
      continue;
    }
    const crawled = await shelf.find(id);
    if (!crawled) throw noSuchFile(id);
    const kept = await adopt(context, crawled);
    if (!kept) throw notFound(`The bytes of '${id}' (${crawled.filename}) are not on this disk any more.`);
    files.push(kept);
  }
  return files;
}

/** What crawls read these files as. Earlier releases adopted crawled files under the names of their items: a page as `.aspx`. */
async function crawledTypes({ stores }: WireContext, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const types = new Map<string, string>();
  if (ids.length === 0) return types;
  for await (const { store } of stores.crawled()) {
    for (const [id, { sourceId, fileType }] of await heldDocuments(store.db, ids)) {
      if (sourceId !== DIRECT_SOURCE) types.set(id, fileType);
    }
  }
  return types;
}

async function adopt({ catalog, shelf, removal }: WireContext, file: WireFile): Promise<WireFile | undefined> {
  const kept = await shelf.adopt(file);
  if (!kept || !(await isDeleted(catalog, file.id))) return kept;
  await removal.delete(file.id);
  return undefined;
}
