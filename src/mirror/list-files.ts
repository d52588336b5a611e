import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing } from "../lib/atomic-file.ts";
import { EMBEDDED_FOLDER, FAILED_FOLDER, ORIGINALS_FOLDER } from "./layout.ts";

const PAGE = 1000;

/** Every file of the mirror of a source, in pages, as the ledger spells them; holds one page and one open folder per level. */
export async function* listFiles(crawlerFolder: string, root: string): AsyncGenerator<readonly string[]> {
  let page: string[] = [];
  for (const folder of [ORIGINALS_FOLDER, EMBEDDED_FOLDER, FAILED_FOLDER]) {
    for await (const file of filesBelow(crawlerFolder, `${root}/${folder}`)) {
      page.push(file);
      if (page.length < PAGE) continue;
      yield page;
      page = [];
    }
  }
  if (page.length > 0) yield page;
}

async function* filesBelow(top: string, folder: string): AsyncGenerator<string> {
  const entries = await opendir(join(top, folder)).catch(ifMissing([]));
  for await (const entry of entries) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* filesBelow(top, path);
    else yield path;
  }
}
