import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gunzipSync, inflateRawSync } from "node:zlib";
import pg from "pg";
import { listZip, readZipEntry } from "../../src/reports/zip-reader.ts";

/**
 * Returns where below the folder a word is, in names or contents, whatever its case: files byte by byte, which includes free pages of
 * databases; tables row by row, full-text indexes by their vocabularies; entries of archives and gzipped files unpacked. Sources of
 * the domain are `<source>`; tables `<file>:<table>`.
 */
export async function findMarker(folder: string, marker: string, databaseUrl?: string): Promise<string[]> {
  const found = new Set<string>();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const place = relative(folder, path);
    if (entry.name.toLowerCase().includes(marker)) found.add(`name of ${place}`);
    if (!entry.isFile()) continue;
    // Locks come and go.
    if (path.includes(".lock/")) continue;
    const bytes = await readFile(path);
    if (has(bytes, marker)) found.add(place);
    if (entry.name.endsWith(".zip")) for (const one of await inZip(path, marker)) found.add(`${place}!${one}`);
    if (bytes[0] === 0x1f && bytes[1] === 0x8b && has(gunzipSync(bytes), marker)) found.add(`${place} (gzip)`);
    if (bytes[0] === 0x78 && has(inflated(bytes.subarray(2)), marker)) found.add(`${place} (deflate)`);
    if (entry.name.endsWith(".sqlite")) for (const table of inSqlite(path, marker)) found.add(`${place}:${table}`);
  }
  if (databaseUrl) for (const table of await inPostgres(databaseUrl, marker)) found.add(`postgres:${table}`);
  return [...found].sort();
}

function has(bytes: Uint8Array, marker: string): boolean {
  const text = Buffer.from(bytes).toString("latin1").toLowerCase();
  const wide = [...marker].join("\0");
  return text.includes(marker) || text.includes(wide);
}

function inflated(bytes: Uint8Array): Uint8Array {
  try {
    return inflateRawSync(bytes);
  } catch {
    return new Uint8Array();
  }
}

async function inZip(path: string, marker: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await listZip(path)) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of readZipEntry(path, entry)) chunks.push(chunk);
    if (has(Buffer.concat(chunks), marker) || entry.name.toLowerCase().includes(marker)) found.push(entry.name);
  }
  return found;
}

function inSqlite(path: string, marker: string): string[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").all();
    return tables.flatMap(({ name, sql }) => {
      const isVocabulary = /fts5vocab/i.test(String(sql));
      if (/USING fts5/i.test(String(sql)) && !isVocabulary) return [];
      const rows = isVocabulary
        ? db.prepare(`SELECT term FROM "${name}" WHERE term LIKE ?`).all(`%${marker.slice(0, -1)}%`)
        : allRows(db, String(name));
      const isIn = rows.some((row) =>
        Object.values(row).some(
          (value) => isVocabulary || has(Buffer.from(value instanceof Uint8Array ? value : String(value)), marker),
        ),
      );
      return isIn ? [String(name)] : [];
    });
  } finally {
    db.close();
  }
}

function allRows(db: DatabaseSync, table: string): ReturnType<ReturnType<DatabaseSync["prepare"]>["all"]> {
  const statement = db.prepare(`SELECT * FROM "${table}"`);
  statement.setReadBigInts(true);
  return statement.all();
}

async function inPostgres(url: string, marker: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query(
      "SELECT table_schema AS schema, table_name AS name FROM information_schema.tables WHERE table_schema LIKE 'lockstep%' AND table_type = 'BASE TABLE'",
    );
    const found: string[] = [];
    for (const { schema, name } of tables) {
      const { rows } = await client.query(`SELECT * FROM "${schema}"."${name}"`);
      const isIn = rows.some((row: Record<string, unknown>) =>
        Object.values(row).some((value) =>
          has(Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value) ?? ""), marker),
        ),
      );
      if (isIn) found.push(`${schema}.${name}`);
    }
    return found;
  } finally {
    await client.end();
  }
}
