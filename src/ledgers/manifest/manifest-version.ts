import { join } from "node:path";
import { fileStamp } from "../../lib/file-stamp.ts";

/** The same text means the same entries, without reading one; "" where there is no manifest. */
export async function manifestVersion(folder: string): Promise<string> {
  const snapshot = await fileStamp(join(folder, "manifest.json"));
  const journal = await fileStamp(join(folder, ".lockstep", "manifest.journal"));
  return snapshot || journal ? `${snapshot} ${journal}` : "";
}
