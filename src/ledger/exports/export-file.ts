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

/** An exported file as last written. */
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
 * Checks a file with another stamp: returns its updated row if it still has bytes that we wrote, perhaps in a killed
 * run. undefined: it was edited.
 */
export async function recognise(path: string, exported: ExportRow | undefined): Promise<ExportRow | undefined> {
  const stamp = await fileStamp(path);
  if (exported && !(await stat(path)).isFile()) return undefined;
  const sha256 = exported && (await hashFile(path));
  if (exported && sha256 === exported.sha256) return { ...exported, stamp };
  if (!exported || sha256 !== exported.pending_sha256) return undefined;
  const { size } = await stat(path);
  return { ...NEVER_EXPORTED, name: exported.name, rev: exported.pending_rev, stamp, size, sha256 };
}

/** The content of an export. */
interface ExportContent {
  /** The revision of the content, if it is the same before and after the pieces. */
  revNow(): Promise<number>;
  pieces(): AsyncIterable<Uint8Array>;
  /** The stamp of the old file when it was last read; a file with another stamp is not replaced. */
  readonly stampBefore?: string | undefined;
  /** The lease for writing, if it can be lost meanwhile. */
  readonly lease?: Pick<Lease, "stillHeld">;
}

/** If the ledger changes while a file is written, it is written again, up to this often. */
const TRIES = 5;

/**
 * Replaces an exported file: written beside, flushed, its hash recorded as pending, renamed, recorded as written.
 * Returns its revision; undefined if the old file was edited meanwhile, which then stays.
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
    // Before the rename, which keeps the stamp: afterwards it might be that of a file that a user saved at once.
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
