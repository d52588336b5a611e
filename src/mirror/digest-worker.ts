import { parentPort, workerData } from "node:worker_threads";
import { MirrorDigest } from "./mirror-digest.ts";
import { visitFilesAtOnce } from "./visit-files.ts";

/** Where to look: folders below `top`. */
export interface DigestOrder {
  readonly top: string;
  readonly folders: readonly string[];
}

const { top, folders } = workerData as DigestOrder;
const digest = new MirrorDigest();
for (const folder of folders) visitFilesAtOnce(top, folder, (path, file) => digest.add(path, file));
parentPort?.postMessage(digest.sums);
