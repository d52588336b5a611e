import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { FileTree } from "../../contracts/file-tree.ts";
import { createTreeRules } from "../../detect/lineage/tree-rules.ts";
import { limitBytes } from "../../lib/limit-bytes.ts";
import { trimEnd } from "../../lib/trim-end.ts";
import { examineFolder } from "./examine-folder.ts";
import { type FolderRoot, type FolderTreeOptions, openRoot } from "./folder-root.ts";
import type { FolderSourceConfig } from "./folder-source-codec.ts";
import { LocalDevices } from "./local-devices.ts";
import { createLookAtFiles } from "./look-at-files.ts";
import { readLocalFile } from "./read-local-file.ts";
import { type Walk, walkFolder, walkOnly } from "./walk-folder.ts";

/** A folder on a disk of this machine, or a share that is mounted on it. */
export function createFolderTree(config: FolderSourceConfig, options: FolderTreeOptions): FileTree {
  const { root: place, gitignore, maxFileBytes, ignoreInodes = false } = config;
  const rules = createTreeRules(config);
  const devices = new LocalDevices();
  const lookAtFiles = createLookAtFiles(devices);
  // What is read lies where it was found.
  let opened: Promise<FolderRoot> | undefined;
  const walkWith = async (signal: AbortSignal): Promise<Walk> => {
    opened = openRoot(place, options);
    const root = await opened;
    return { root, rules, gitignore, maxFileBytes, ignoreInodes, devices, lookAtFiles, signal };
  };
  const url = trimEnd(pathToFileURL(place).href, "/");
  const rawUrl = `file://${trimEnd(join(place), "/")}`;
  const tree: FileTree = {
    place,
    identity: async () => (await openRoot(place, options)).identity,
    async *walk(signal, below) {
      const walk = await walkWith(signal);
      // What a .gitignore says holds for all that is below it.
      return yield* below && !gitignore ? walkOnly(walk, below) : walkFolder(walk);
    },
    async *read(path, signal, stamp = "") {
      opened ??= openRoot(place, options);
      const root = (await opened).path;
      yield* limitBytes(
        readLocalFile(join(root, path), { root, stamp, ignoreInodes, devices, signal }),
        config.maxFileBytes,
      );
    },
    localPath: (path) => join(place, path),
    addressOf: (path) => ({ url: `${url}/${encodePath(path)}`, rawUrl: `${rawUrl}/${path}` }),
    examine: (isTaken, signal) => examineFolder(config, tree, isTaken, signal),
  };
  return tree;
}

/** Most are what they are encoded: every sighting has its address. */
function encodePath(path: string): string {
  if (/^[\w./-]*$/.test(path)) return path;
  return encodeURIComponent(path.toWellFormed()).replaceAll("%2F", "/");
}
