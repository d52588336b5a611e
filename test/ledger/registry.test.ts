// The registry keeps its contract in every database.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { openSqlRegistry } from "../../src/ledger/registry/sql-registry.ts";
import { openPostgres } from "../../src/lib/sql/postgres-database.ts";
import { registrySuite } from "../contracts/registry-suite.ts";
import { type PostgresServer, startPostgres } from "../postgres/start-postgres.ts";

let server: PostgresServer;
let url = "";
let folder = "";
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lockstep-registry-"));
  server = await startPostgres();
  url = await server.createDatabase();
});
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const OPTIONS = { many: 2500, isOrdered: true };

registrySuite(
  "SQLite",
  async (t) => {
    const where = { folder: await mkdtemp(join(folder, "one-")) };
    const registry = openSqlRegistry(where);
    t.after(() => registry.close());
    return { registry, where };
  },
  OPTIONS,
);

registrySuite(
  "PostgreSQL",
  async (t) => {
    const where = { url };
    const postgres = openPostgres(url);
    await postgres.dropTables("lockstep_registry");
    await postgres.close();
    const registry = openSqlRegistry(where);
    t.after(() => registry.close());
    return { registry, where };
  },
  OPTIONS,
);
