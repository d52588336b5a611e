import { startAzurite } from "../test/azurite.ts";
import { playKills } from "../test/engine/ingest-kills.ts";
import { startPostgres } from "../test/postgres/start-postgres.ts";
import type { Soak } from "./soak.ts";

const PLAN = { items: 80, kills: 12 };

/** Workers killed in the middle of their looks, a seed after the other on each of the three registries. */
export const ingestSoak: Soak = {
  count: 15,
  async play(seed) {
    const registry = REGISTRIES[seed % REGISTRIES.length] ?? inSqlite;
    return await registry(seed);
  },
};

type Registry = (seed: number) => Promise<string>;

const inSqlite: Registry = async (seed) => `SQLite: ${await playKills({}, { ...PLAN, seed })}`;

const inPostgres: Registry = async (seed) => {
  const server = await startPostgres();
  try {
    const settings = { DATABASE_URL: await server.createDatabase() };
    return `PostgreSQL: ${await playKills(settings, { ...PLAN, seed })}`;
  } finally {
    await server.stop();
  }
};

const inAzure: Registry = async (seed) => {
  const azurite = await startAzurite();
  try {
    const settings = { AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString };
    return `Azure: ${await playKills(settings, { ...PLAN, seed })}`;
  } finally {
    await azurite.stop();
  }
};

const REGISTRIES: readonly Registry[] = [inSqlite, inPostgres, inAzure];
