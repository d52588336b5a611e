import { join } from "node:path";
import { report } from "./measure.ts";
import { statAll } from "./stat-all.ts";

await report(async () => ({
  files: await statAll(join(process.env["PERSISTENT_STORAGE_PATH"] ?? "", "crawler/BENCH/01_files/bulk/02_embedded")),
}));
