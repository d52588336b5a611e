import { findFiles, isDeleted } from "../catalog/files.ts";
import type { WireFile } from "../file-shelf.ts";
import type { WireContext } from "./wire-context.ts";
import { noSuchFile, notFound } from "./wire-error.ts";

/** Files on our shelf, ready to be read, each once. One that is not there refuses them all. */
export async function filesToAttach(context: WireContext, ids: readonly string[]): Promise<WireFile[]> {
  const { catalog, shelf } = context;
  const wanted = [...new Set(ids)];
  const uploaded = await findFiles(catalog, wanted);
  const files: WireFile[] = [];
  for (const id of wanted) {
    const file = uploaded.get(id);
    if (file) {
      files.push({ ...file, path: shelf.pathOf(id) });
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

async function adopt({ catalog, shelf, removal }: WireContext, file: WireFile): Promise<WireFile | undefined> {
  const kept = await shelf.adopt(file);
  if (!kept || !(await isDeleted(catalog, file.id))) return kept;
  await removal.delete(file.id);
  return undefined;
}
