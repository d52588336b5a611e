import { parentPort, workerData } from "node:worker_threads";
import { visitFilesAtOnce } from "./scan-files.ts";

/** The folders to scan, below `top`. */
export interface ScanOrder {
  readonly top: string;
  readonly folders: readonly string[];
}

/** A page of files: paths separated by NUL, and three numbers each, as in FileOnDisk. */
export interface ScannedFiles {
  readonly paths: string;
  readonly numbers: Float64Array;
}

const PAGE = 2000;
const { top, folders } = workerData as ScanOrder;
let paths: string[] = [];
let numbers = new Float64Array(PAGE * 3);

function send(): void {
  if (paths.length > 0) parentPort?.postMessage({ paths: paths.join("\0"), numbers }, [numbers.buffer]);
  paths = [];
  numbers = new Float64Array(PAGE * 3);
}

for (const folder of folders) {
  visitFilesAtOnce(top, folder, (path, { size, mtimeMs, placedAtMs }) => {
    numbers.set([size, mtimeMs, placedAtMs], paths.push(path) * 3 - 3);
    if (paths.length === PAGE) send();
  });
}
send();
parentPort?.postMessage("done");
