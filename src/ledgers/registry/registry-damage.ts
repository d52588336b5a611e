import { DamagedError } from "../../contracts/errors.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { findDamage } from "../../lib/sql/sqlite-damage.ts";

/** The database, which says for people that its file is damaged. The cure is that of docs/formats/registry.md. */
export async function sayingDamage(opening: Promise<SqlDatabase>): Promise<SqlDatabase> {
  const db = await opening.catch(throwDamage);
  return {
    dialect: db.dialect,
    all: (text, values) => db.all<never>(text, values).catch(throwDamage),
    get: (text, values) => db.get<never>(text, values).catch(throwDamage),
    run: (text, values) => db.run(text, values).catch(throwDamage),
    insert: (into, rows, suffix) => db.insert(into, rows, suffix).catch(throwDamage),
    write: (work) => db.write(work).catch(throwDamage),
    read: (work) => db.read(work).catch(throwDamage),
    close: () => db.close(),
  };
}

function throwDamage(error: unknown): never {
  const reason = findDamage(error);
  if (reason === undefined) throw error;
  throw new DamagedError(
    `The registry of web addresses is damaged: ${reason}.`,
    "Stop lockstep, delete index/registry.sqlite with its -wal and -shm, and start it again. Crawls find the pages of web sites again. Addresses that were registered one by one have to be registered again, before the next crawl takes their documents out of the index.",
  );
}
