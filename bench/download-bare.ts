import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { forEachConcurrent } from "../src/lib/concurrency.ts";
import { listAll, signIn } from "./list-all.ts";
import { report } from "./measure.ts";

const AT_ONCE = 4;

await report(async () => {
  const site = process.env["BENCH_SITE"] ?? "";
  const token = await signIn(new URL(site).origin);
  const folder = join(process.env["PERSISTENT_STORAGE_PATH"] ?? "", "bare");
  await mkdir(folder, { recursive: true });
  const ids: string[] = [];
  await listAll(site, token, (row) => {
    if (row["FileSystemObjectType"] === 0) ids.push(String(row["UniqueId"]));
  });
  let bytes = 0;
  await forEachConcurrent(ids, AT_ONCE, async (id) => {
    const url = `${site}/_api/web/GetFileById('${id}')/$value`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    const body = new Uint8Array(await response.arrayBuffer());
    bytes += body.length;
    await writeFile(join(folder, id), body);
  });
  return { files: ids.length, bytes };
});
