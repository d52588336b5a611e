import { DIRECT_SOURCE } from "../../../index/shared-schema.ts";
import { withFileType } from "../../../lib/file-type.ts";
import { findDocuments } from "../attachments.ts";
import { findFiles, isDeleted, type WireFile } from "../file-repository.ts";
import type { WireContext } from "./wire-context.ts";
import { noSuchFile, notFound } from "./wire-error.ts";

/** Returns the files, each once, with a path that can be read. Throws if one is missing. */
export async function filesToAttach(context: WireContext, ids: readonly string[]): Promise<WireFile[]> {
  const { catalog, files: repository } = context;
  const wanted = [...new Set(ids)];
  const uploaded = await findFiles(catalog, wanted);
  const types = await crawledTypes(context, [...uploaded.keys()]);
  const files: WireFile[] = [];
  for (const id of wanted) {
    const file = uploaded.get(id);
    if (file) {
      const filename = withFileType(file.filename, types.get(id) ?? "");
      files.push({ ...file, filename, path: repository.pathOf(id) });
      continue;
    }
    const crawled = await repository.find(id);
    if (!crawled) throw noSuchFile(id);
    const adopted = await adopt(context, crawled);
    if (!adopted) throw notFound(`The bytes of '${id}' (${crawled.filename}) are not on this disk any more.`);
    files.push(adopted);
  }
  return files;
}

/** Returns the types that crawls read these files as. Earlier releases adopted crawled files under the names of their items: a page as `.aspx`. */
async function crawledTypes({ stores }: WireContext, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const types = new Map<string, string>();
  if (ids.length === 0) return types;
  for await (const { store } of stores.crawled()) {
    for (const [id, { sourceId, fileType }] of await findDocuments(store.db, ids)) {
      if (sourceId !== DIRECT_SOURCE) types.set(id, fileType);
    }
  }
  return types;
}

async function adopt({ catalog, files }: WireContext, file: WireFile): Promise<WireFile | undefined> {
  const adopted = await files.adopt(file);
  if (!adopted || !(await isDeleted(catalog, file.id))) return adopted;
  await files.delete(file.id);
  return undefined;
}
