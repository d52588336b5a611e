import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { forEachConcurrent } from "../src/lib/concurrency.ts";

const FILES_A_FOLDER = 100;

/** So many small files, a hundred a folder. */
export async function writeBulkFolder(
  root: string,
  count: number,
  { pathOf = textPath, textOf = (i: number) => bulkText(i, "first") } = {},
): Promise<void> {
  process.stdout.write(`${count} files in ${Math.ceil(count / FILES_A_FOLDER)} folders …\n`);
  await forEachConcurrent([...Array(count).keys()], 64, (i) => writeBelow(root, pathOf(i), textOf(i)));
}

export function textPath(i: number): string {
  const folder = Math.floor(i / FILES_A_FOLDER);
  return `area${folder % 20}/folder${folder}/file${i}.txt`;
}

export function bulkText(i: number, word: string): string {
  return `Report ${i} of ${word}.\n\nIt tells what number ${i} did in section ${i % 977}, and why ${word} mattered to ${i * 7}.\n`;
}

export async function writeBelow(root: string, path: string, text: string): Promise<void> {
  const file = join(root, path);
  await writeFile(file, text).catch(async () => {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  });
}
