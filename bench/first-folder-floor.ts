import { createHash } from "node:crypto";
import { copyFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { report } from "./measure.ts";

const A_TRANSACTION = 100;

await report(async () => {
  const root = process.env["BENCH_ROOT"] ?? "";
  const storage = process.env["PERSISTENT_STORAGE_PATH"] ?? "";
  const files: string[] = [];
  const list = timed(() => {
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      lstatSync(path);
      createHash("sha256").update(readFileSync(path)).digest();
      files.push(path);
    }
  });
  const mirrored = (path: string): string => path.replace(root, join(storage, "mirror"));
  const copy = timed(() => {
    for (const folder of new Set(files.map((path) => dirname(mirrored(path))))) mkdirSync(folder, { recursive: true });
    for (const path of files) copyFileSync(path, mirrored(path));
  });
  const texts = timed(() => {
    mkdirSync(join(storage, "texts"), { recursive: true });
    for (const [i, path] of files.entries()) {
      const folder = join(storage, "texts", String(i));
      mkdirSync(`${folder}.new`);
      writeFileSync(join(`${folder}.new`, "content.md"), readFileSync(mirrored(path)));
      writeFileSync(join(`${folder}.new`, "metadata.json"), JSON.stringify({ path, version: "v1" }));
      renameSync(`${folder}.new`, folder);
    }
  });
  const index = timed(() => insertAll(join(storage, "index.sqlite"), files.map(mirrored)));
  return { files: files.length, list, copy, texts, index };
});

function insertAll(path: string, files: readonly string[]): void {
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT, body TEXT)");
  db.exec("CREATE VIRTUAL TABLE words USING fts5(body, content='')");
  const insertDocument = db.prepare("INSERT INTO documents VALUES (?, ?, ?)");
  const insertWords = db.prepare("INSERT INTO words (rowid, body) VALUES (?, ?)");
  for (let from = 0; from < files.length; from += A_TRANSACTION) {
    db.exec("BEGIN");
    for (const [at, file] of files.slice(from, from + A_TRANSACTION).entries()) {
      const body = readFileSync(file, "utf8");
      insertDocument.run(from + at, file, body);
      insertWords.run(from + at, body);
    }
    db.exec("COMMIT");
  }
  db.close();
}

function timed(work: () => void): number {
  const startedAt = performance.now();
  work();
  return Math.round(performance.now() - startedAt) / 1000;
}
