import { parentPort, workerData } from "node:worker_threads";
import { type ScanOrder, visitFilesAtOnce } from "./scan-files.ts";

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
