import { basename } from "node:path";
import { DamagedError } from "../../contracts/errors.ts";
import { findDamage } from "../../lib/sql/sqlite-damage.ts";

/** For people, where the file of a store is damaged; every other error as it is. The cure is that of docs/formats/index-sqlite.md. */
export function sayDamage(path: string, error: unknown): unknown {
  const reason = findDamage(error);
  if (reason === undefined) return error;
  const file = basename(path);
  return new DamagedError(
    `The vector store '${basename(path, ".sqlite")}' is damaged: ${reason}.`,
    `Stop lockstep, delete index/${file} with its -wal and -shm, start it again and crawl: the store comes back under the same id, and nothing is downloaded. Files that were attached over the OpenAI protocol have to be attached again.`,
  );
}
