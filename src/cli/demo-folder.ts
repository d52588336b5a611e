import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { demoFolderFiles, demoMove } from "../sandbox/seed/demo-folder.ts";

const NAME_BEGINS = "lockstep-demo-";

/** A shared drive of a few files. */
export interface DemoFolder {
  readonly root: string;
  /** A file gets another name in another folder. */
  tidyUp(): Promise<void>;
  remove(): Promise<void>;
}

/** A temporary one: the storage itself is never a source. */
export async function createDemoFolder(): Promise<DemoFolder> {
  const root = await mkdtemp(join(tmpdir(), NAME_BEGINS));
  for (const [path, text] of Object.entries(demoFolderFiles)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return {
    root,
    tidyUp: () => rename(join(root, demoMove.from), join(root, demoMove.to)),
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

export function isDemoFolder(root: string): boolean {
  return basename(root).startsWith(NAME_BEGINS);
}
