// Only the owner can read the storage, unless a setting lets a group in.
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ServerProcess } from "../engine/server-process.ts";
import { runCommand } from "./run-command.ts";

const skip = process.platform === "win32" ? "Windows keeps rights elsewhere" : false;
const folder = await mkdtemp(join(tmpdir(), "lockstep-rights-"));
after(() => rm(folder, { recursive: true, force: true }));
const root = join(folder, "root");
await mkdir(root);
await writeFile(join(root, "open.md"), "The okapi budget is 12 euros.", { mode: 0o644 });
await writeFile(join(root, "closed.md"), "The quokka budget is 13 euros.", { mode: 0o600 });
await chmod(join(root, "open.md"), 0o666);

/** Everything a crawl leaves, with its mode. */
async function crawledWith(settings: Record<string, string>): Promise<{ path: string; mode: string; kind: string }[]> {
  const storage = settings["PERSISTENT_STORAGE_PATH"] ?? "";
  const server = await ServerProcess.start({ HOME: folder, ...settings });
  const sources = { folder_sources: [{ source_id: "docs", root }] };
  const domain = { domain_id: "RIGHTS", name: "Rights", description: "", vector_store_name: "", vector_store_id: "" };
  const created = await fetch(`${server.url}/v2/domains/create`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...domain, ...sources }),
  });
  assert.ok(created.ok, await created.text());
  const crawled = await server.getJson("/v2/crawler/crawl?domain_id=RIGHTS&format=json");
  assert.ok(crawled.ok, crawled.error);
  await server.end("SIGTERM");
  const entries = await readdir(storage, { recursive: true, withFileTypes: true });
  const paths = ["", ...entries.map((entry) => join(entry.parentPath, entry.name).slice(storage.length + 1))];
  assert.ok(
    paths.some((path) => path.endsWith("02_embedded/closed.md")),
    paths.join("\n"),
  );
  return Promise.all(
    paths.map(async (path) => {
      const stats = await stat(join(storage, path));
      return { path, mode: (stats.mode & 0o7777).toString(8), kind: stats.isDirectory() ? "folder" : "file" };
    }),
  );
}

test("nobody else can read what is kept, whatever rights the sources have", { skip }, async () => {
  const entries = await crawledWith({ PERSISTENT_STORAGE_PATH: join(folder, "alone") });
  const wide = entries.filter(({ mode, kind }) => mode !== (kind === "folder" ? "700" : "600"));
  assert.deepEqual(wide, []);
});

test("a setting lets a group read and write, keys and the audit log apart", { skip }, async () => {
  const settings = { PERSISTENT_STORAGE_PATH: join(folder, "group"), STORAGE_GROUP_ACCESS: "write" };
  const entries = (await crawledWith(settings)).filter(({ path }) => !/^(security|audit)/.test(path));
  const other = entries.filter(({ mode, kind }) => mode !== (kind === "folder" ? "2770" : "660"));
  assert.deepEqual(other, []);
});

test("the doctor tells what was open before, and a server closes the folder", { skip }, async () => {
  const storage = join(folder, "old");
  await mkdir(join(storage, "domains"), { recursive: true });
  await writeFile(join(storage, "domains", "note.txt"), "x");
  await chmod(join(storage, "domains"), 0o755);
  await chmod(join(storage, "domains", "note.txt"), 0o644);
  await chmod(storage, 0o755);
  const before = await doctor(storage);
  assert.match(
    before,
    /^✗ Rights of the storage: Other accounts .* mode 700\. Inside, 2 files or folders .*\n.*\n {4}chmod -R go= '/m,
  );
  const server = await ServerProcess.start({ HOME: folder, PERSISTENT_STORAGE_PATH: storage });
  await server.end("SIGTERM");
  assert.equal((await stat(storage)).mode & 0o777, 0o700);
  const later = await doctor(storage);
  assert.match(later, /^✓ Rights of the storage: Only the account that owns it gets in\. Inside, 2 files or folders /m);
  assert.match(
    await doctor(join(folder, "alone")),
    /^✓ Rights of the storage: Only the account that owns it gets in\.$/m,
  );
  assert.match(
    await doctor(storage, { STORAGE_GROUP_ACCESS: "all" }),
    /STORAGE_GROUP_ACCESS must be one of none, read, write; it is 'all'/,
  );
});

async function doctor(storage: string, settings: Record<string, string> = {}): Promise<string> {
  return (await runCommand(folder, ["doctor"], { PERSISTENT_STORAGE_PATH: storage, ...settings })).out;
}
