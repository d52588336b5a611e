// Workers killed in the middle of their visits lose no address, in every registry.
import { after, before, describe, test } from "node:test";
import { type Azurite, startAzurite } from "../azurite.ts";
import { type PostgresServer, startPostgres } from "../postgres/start-postgres.ts";
import { playKills } from "./ingest-kills.ts";

const PLAN = { items: 12, kills: 1 };

describe("three workers on one registry, killed in the middle of their looks", () => {
  let postgres: PostgresServer;
  let azurite: Azurite;
  before(async () => {
    [postgres, azurite] = await Promise.all([startPostgres(), startAzurite()]);
  });
  after(async () => {
    await Promise.all([postgres.stop(), azurite.stop()]);
  });

  test("SQLite", async () => void (await playKills({}, { ...PLAN, seed: 4 })));

  test("PostgreSQL", async () => {
    await playKills({ DATABASE_URL: await postgres.createDatabase() }, { ...PLAN, seed: 2 });
  });

  test("Azure Table and Queue Storage", async () => {
    const connection = { AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString };
    await playKills(connection, { ...PLAN, seed: 3 });
  });
});
