// Verify finds in PostgreSQL what it finds in SQLite.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { FolderStage } from "../engine/folder-stage.ts";
import { verify } from "../engine/verify-corruptions.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

let server: PostgresServer;
let stage: FolderStage;
let url = "";
before(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  stage = await FolderStage.open({ settings: { DATABASE_URL: url } });
  await stage.write("ibex.md", "# Ibex\n\nAn ibex climbs the steep walls of the valley.\n\n## Food\n\nIt eats grass.");
  await stage.write("vole.md", "# Vole\n\nA vole digs its tunnels below the meadow near the river.");
  await stage.crawl();
});
after(async () => {
  await stage.close();
  await server.stop();
});

test("a changed vector, chunk and label are named, and repaired", async () => {
  assert.equal((await verify(stage)).statement.verdict, "agrees");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(
      "SELECT table_schema FROM information_schema.tables WHERE table_name = 'vectors'",
    );
    const schema = `"${rows[0]?.table_schema}"`;
    const ofVole = `(SELECT c.id FROM ${schema}.chunks c WHERE c.text LIKE '%vole%' LIMIT 1)`;
    await client.query(
      `UPDATE ${schema}.vectors SET vector = set_byte(vector, 9, (get_byte(vector, 9) + 1) % 256) WHERE chunk_id = ${ofVole}`,
    );
    await client.query(`UPDATE ${schema}.chunks SET text = text || '!' WHERE text LIKE '%grass%'`);
    await client.query(`UPDATE ${schema}.documents SET url = 'stale' WHERE name = 'vole.md'`);
  } finally {
    await client.end();
  }
  const { differences, log } = await verify(stage);
  assert.deepEqual(
    differences.map(({ layer, part, path }) => `${layer} ${part} ${path}`).sort(),
    ["index chunks ibex.md", "index label vole.md", "index vectors vole.md"],
    log,
  );
  const repaired = await verify(stage, { repair: true });
  assert.equal(repaired.statement.verdict, "agrees", repaired.log);
});
