import { existsSync } from "node:fs";
import type { Schema, SqlDatabase } from "./sql.ts";
import { openSqlite } from "./sqlite-database.ts";

/** A database that is opened when it is needed. After close, every use throws. */
export interface PooledDatabase extends SqlDatabase {
  /** Opens it, creating the file and its tables if they do not exist. No later use creates them again. */
  create(): Promise<void>;
}

interface PooledFile {
  /** undefined: it is not open. */
  db: Promise<SqlDatabase> | undefined;
  uses: number;
  /** Settles when the last close is over, whatever its outcome. */
  closing: Promise<unknown>;
  closeIdle(): void;
}

/**
 * SQLite files of which only the last used ones are open: each takes several file descriptors and megabytes of cache. A file is in use from
 * the call of a statement or a transaction to its end, and is never closed in between; so more than `maxOpen` are open while more are in
 * use at once.
 */
export class SqlitePool {
  readonly #maxOpen: number;
  readonly #sayDamage: (path: string, error: unknown) => unknown;
  /** The open ones, least recently used first. */
  readonly #open = new Set<PooledFile>();

  /** `sayDamage` turns SQLite's message for a damaged file into one for people, and leaves every other error as it is. */
  constructor(maxOpen: number, sayDamage: (path: string, error: unknown) => unknown) {
    this.#maxOpen = maxOpen;
    this.#sayDamage = sayDamage;
  }

  /** `closed` is called whenever the file was closed, for good or for the time being. */
  database(path: string, schema: Schema, closed: () => void): PooledDatabase {
    let created = false;
    let ended = false;
    const open = async (): Promise<SqlDatabase> => {
      // The last connection to close locks out new ones.
      await file.closing;
      // Another process may have deleted it; an empty file in its place would look like a store that lost everything.
      if (created && !existsSync(path)) throw new Error(`open ${path}: it was deleted`);
      const db = await openSqlite(path, schema);
      created = true;
      return db;
    };
    const shut = async (): Promise<void> => {
      const { db, closing } = file;
      file.db = undefined;
      this.#open.delete(file);
      closed();
      const end = closing.then(() => close(db));
      file.closing = end.catch(() => undefined);
      await end;
    };
    const file: PooledFile = {
      db: undefined,
      uses: 0,
      closing: Promise.resolve(),
      // What closing could not write is in the log, where the next open finds it.
      closeIdle: () => void shut().catch(() => undefined),
    };
    const use = async <T>(work: (db: SqlDatabase) => Promise<T>): Promise<T> => {
      if (ended) throw new Error(`use ${path}: it is closed`);
      try {
        return await this.#use(file, open, work);
      } catch (error) {
        throw this.#sayDamage(path, error);
      }
    };
    return {
      dialect: "sqlite",
      create: () => use(async () => undefined),
      all: (text, values) => use((db) => db.all(text, values)),
      rows: (text, values) => use((db) => db.rows(text, values)),
      get: (text, values) => use((db) => db.get(text, values)),
      run: (text, values) => use((db) => db.run(text, values)),
      insert: (into, rows, suffix) => use((db) => db.insert(into, rows, suffix)),
      write: (work) => use((db) => db.write(work)),
      read: (work) => use((db) => db.read(work)),
      async close() {
        ended = true;
        await shut();
      },
    };
  }

  async #use<T>(file: PooledFile, open: () => Promise<SqlDatabase>, work: (db: SqlDatabase) => Promise<T>): Promise<T> {
    file.uses++;
    this.#open.delete(file);
    this.#open.add(file);
    file.db ??= open();
    const opening = file.db;
    try {
      return await work(await opening);
    } finally {
      file.uses--;
      await this.#forgetFailed(file, opening);
      this.#closeIdle();
    }
  }

  /** A file that could not be opened is tried again at the next use. */
  async #forgetFailed(file: PooledFile, opening: Promise<SqlDatabase>): Promise<void> {
    const failed = await opening.then(
      () => false,
      () => true,
    );
    if (!failed || file.db !== opening) return;
    file.db = undefined;
    this.#open.delete(file);
  }

  #closeIdle(): void {
    for (const file of this.#open) {
      if (this.#open.size <= this.#maxOpen) return;
      if (file.uses === 0) file.closeIdle();
    }
  }
}

/** A file that could not be opened has nothing to close. */
async function close(opening: Promise<SqlDatabase> | undefined): Promise<void> {
  await (await opening?.catch(() => undefined))?.close();
}
