import { join } from "node:path";
import { listAll, signIn } from "./list-all.ts";
import { report } from "./measure.ts";
import { statAll } from "./stat-all.ts";

await report(async () => {
  const site = process.env["BENCH_SITE"] ?? "";
  let rows = 0;
  await listAll(site, await signIn(new URL(site).origin), () => {
    rows += 1;
  });
  const mirror = join(process.env["PERSISTENT_STORAGE_PATH"] ?? "", "crawler/BENCH/01_files/bulk/02_embedded");
  return { rows, files: await statAll(mirror) };
});
