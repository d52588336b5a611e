import { saysNoText } from "../contracts/document.ts";
import type { LedgerEntry } from "../contracts/ledger.ts";

/** A reader that timed out, ran out of memory or crashed may succeed in a later run; after three it is given up. */
export const MAX_READER_TRIES = 3;

/** Suffix of `embedding_error`: counts the tries of a reader on these bytes. */
const TRIES = / \(try (\d+) of 3, reader (\S+), bytes ([0-9a-f]{8})\)$/;

/** Suffix after either kind of failure: names the reader. */
const READ_BY = / \((?:try \d+ of 3, )?reader ([^\s,)]+)(?:, bytes [0-9a-f]{8})?\)$/;

type Tried = Pick<LedgerEntry, "mirrored" | "indexed">;

/** How often this reader has failed on these bytes. */
export function readerTries({ mirrored, indexed }: Tried, reader: string): number {
  const [, tries = "0", by, bytes] = TRIES.exec(indexed?.embeddingError ?? "") ?? [];
  return by === reader && bytes === shortHash(mirrored) ? Number(tries) : 0;
}

/** Whether another reader gave it up or found no text. Earlier releases did not record who found no text. */
export function isOtherReader({ indexed }: Pick<LedgerEntry, "indexed">, reader: string): boolean {
  const reason = indexed?.embeddingError ?? "";
  const by = READ_BY.exec(reason)?.[1];
  return by === undefined ? saysNoText(reason) : by !== reader;
}

export function withReader(reason: string, reader: string): string {
  return saysNoText(reason) ? `${reason} (reader ${reader})` : reason;
}

export function withTries(reason: string, entry: Tried, reader: string, tries: number): string {
  return `${reason} (try ${tries} of ${MAX_READER_TRIES}, reader ${reader}, bytes ${shortHash(entry.mirrored)})`;
}

function shortHash(mirrored: LedgerEntry["mirrored"]): string {
  return mirrored?.observed?.sha256.slice(0, 8).padEnd(8, "0") ?? "00000000";
}
