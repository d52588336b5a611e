// The same with PostgreSQL.
import { eraseSuite } from "../engine/erase-suite.ts";
import { startPostgres } from "./start-postgres.ts";

eraseSuite("with PostgreSQL", async () => {
  const server = await startPostgres();
  const databaseUrl = await server.createDatabase();
  return { settings: { DATABASE_URL: databaseUrl }, databaseUrl, close: () => server.stop() };
});
