import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/** When files and texts of the store were made, as its writer spelled it. */
const MADE = "2025-03-01T09:30:00";

export interface EarlierFileSpec {
  readonly docId: string | null;
  readonly bytes: string;
  /** The text that was kept of it, unless it has none. */
  readonly text?: string;
  /** Texts of earlier versions, oldest first. */
  readonly earlier?: readonly string[];
  readonly status?: "missing" | "deleted" | "error";
  /** The file was edited, and crawled, after its text was kept. */
  readonly editedLater?: boolean;
}

/** A store as it was laid out before manifests had a layout. `knowledgeBase`: its folders lie one level deeper. */
export async function writeEarlierStore(
  folder: string,
  files: Readonly<Record<string, EarlierFileSpec>>,
  options: { readonly knowledgeBase?: boolean } = {},
): Promise<void> {
  const place = options.knowledgeBase ? join(folder, "knowledge_base") : folder;
  const entries: Record<string, unknown> = {};
  for (const [path, { docId, bytes, text, earlier = [], status, editedLater }] of Object.entries(files)) {
    entries[path] = {
      path,
      filename: path.split("/").at(-1),
      extension: ".txt",
      size_bytes: bytes.length,
      modified_time: editedLater ? "2025-04-01T09:30:00" : MADE,
      hash: createHash("sha256").update(bytes).digest("hex"),
      doc_id: docId,
      ...(status && { status }),
    };
    if (text === undefined) continue;
    const metadata = { doc_id: docId, title: "T", source_path: path, version: earlier.length + 1, modified_at: MADE };
    await write(join(place, "documents", String(docId), "content.md"), text);
    await write(join(place, "documents", String(docId), "metadata.json"), JSON.stringify(metadata));
    for (const [i, old] of earlier.entries()) {
      await write(join(place, "versions", String(docId), `v${i + 1}`, "content.md"), old);
    }
  }
  await write(join(place, "documents", "doc_orphan", "content.md"), "Nobody knows it.");
  await write(join(place, "staging", "doc_half", "content.md"), "half a te");
  await write(join(folder, "manifest.json"), JSON.stringify({ files: entries, updated_at: MADE }, null, 2));
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** Every file below a folder with its text, but for what is below names to leave out. */
export async function contentsOf(folder: string, leaveOut: readonly string[] = []): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(folder.length + 1);
    if (!entry.isFile() || leaveOut.includes(path.split("/")[0] ?? "")) continue;
    // A killed process leaves what it was writing, which maintenance takes away.
    if (path.endsWith(".tmp")) continue;
    contents[path] = await readFile(join(folder, path), "utf8");
  }
  return contents;
}
