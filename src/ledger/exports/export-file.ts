import { createHash, randomBytes } from "node:crypto";
import { open, rename, rm, stat } from "node:fs/promises";
import { basename } from "node:path";
import { ConflictError } from "../../contracts/errors.ts";
import type { Lease } from "../../contracts/lease.ts";
import { fileStamp } from "../../lib/file-system.ts";
import { hashFile } from "../../lib/hash.ts";
import { replacing, type Sql, type SqlDatabase } from "../../lib/sql/sql.ts";

export const NEVER_EXPORTED = {
  rev: 0,
  stamp: "",
  size: 0,
  sha256: "",
  appending: 0,
  pending_rev: 0,
  pending_sha256: "",
};

/** A file as we last wrote it from the ledger. */
export interface ExportRow extends Readonly<typeof NEVER_EXPORTED> {
  readonly name: string;
}

export async function readExports(sql: Sql, sourceNo: number): Promise<ReadonlyMap<string, ExportRow>> {
  const rows = await sql.all<ExportRow>("SELECT * FROM export WHERE source_no = $1", [sourceNo]);
  return new Map(rows.map((row) => [row.name, row]));
}

export async function noteExport(writer: SqlDatabase | undefined, sourceNo: number, row: ExportRow): Promise<void> {
  const { name, rev, stamp, size, sha256, appending, pending_rev, pending_sha256 } = row;
  const columns = "rev, stamp, size, sha256, appending, pending_rev, pending_sha256";
  const values = [sourceNo, name, rev, stamp, size, sha256, appending, pending_rev, pending_sha256];
  await writer?.insert(`export (source_no, name, ${columns})`, [values], replacing("source_no, name", columns));
}

/**
 * Of a file with another stamp: what is noted of it from now on, if it still has bytes that we wrote, perhaps killed before we could say so.
 * undefined: somebody edited it.
 */
export async function recognise(path: string, exported: ExportRow | undefined): Promise<ExportRow | undefined> {
  const stamp = await fileStamp(path);
  const sha256 = exported && (await hashFile(path));
  if (exported && sha256 === exported.sha256) return { ...exported, stamp };
  if (!exported || sha256 !== exported.pending_sha256) return undefined;
  const { size } = await stat(path);
  return { ...NEVER_EXPORTED, name: exported.name, rev: exported.pending_rev, stamp, size, sha256 };
}

/** What a file is to say. */
interface ExportContent {
  /** The revision that it says, if this is the same before and after the pieces. */
  revNow(): Promise<number>;
  pieces(): AsyncIterable<Uint8Array>;
  /** The stamp of the predecessor when it was last read; with another one it stays in its place. */
  readonly stampBefore?: string | undefined;
  /** The right to write it, where it can be lost meanwhile. */
  readonly lease?: Pick<Lease, "stillHeld">;
}

/** Somebody else may write while a file is written; then it is written again, so often. */
const TRIES = 5;

/**
 * Puts a file in the place of its predecessor: written beside, flushed, its hash noted as pending, renamed over, noted as written. Returns
 * the revision that it says; undefined where somebody changed the predecessor meanwhile, which then stays.
 */
export async function replaceExport(
  db: SqlDatabase,
  sourceNo: number,
  path: string,
  exported: ExportRow | undefined,
  content: ExportContent,
): Promise<number | undefined> {
  const name = basename(path);
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString("hex")}.tmp`;
  try {
    const written = await writeUntilSteady(temporary, content);
    const { rev, sha256 } = written;
    if (content.lease && !(await content.lease.stillHeld())) {
      throw new ConflictError(`write ${name}: this process was suspended for too long, and another one took over`);
    }
    // It keeps its stamp when it is renamed: one taken afterwards might be that of a file which somebody saved at once.
    const stamp = await fileStamp(temporary);
    await noteExport(db, sourceNo, { ...NEVER_EXPORTED, name, ...exported, pending_rev: rev, pending_sha256: sha256 });
    if (content.stampBefore !== undefined && (await fileStamp(path)) !== content.stampBefore) return undefined;
    await rename(temporary, path);
    await noteExport(db, sourceNo, { ...NEVER_EXPORTED, name, ...written, stamp });
    return rev;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function writeUntilSteady(
  path: string,
  { revNow, pieces }: ExportContent,
): Promise<{ readonly rev: number; readonly size: number; readonly sha256: string }> {
  for (let tries = 1; ; tries++) {
    const rev = await revNow();
    const hash = createHash("sha256");
    let size = 0;
    const file = await open(path, "w");
    try {
      for await (const piece of pieces()) {
        hash.update(piece);
        size += piece.length;
        await file.write(piece);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    if (tries === TRIES || (await revNow()) === rev) return { rev, size, sha256: hash.digest("hex") };
  }
}
