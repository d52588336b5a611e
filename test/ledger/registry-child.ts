import { ConflictError } from "../../src/contracts/errors.ts";
import { openSqlRegistry } from "../../src/ledger/registry/sql-registry.ts";
import { openTableRegistry } from "../../src/ledger/registry/table-registry.ts";
import { page } from "./registry-fixture.ts";

export type RegistryPlace = Parameters<typeof openSqlRegistry>[0] | Parameters<typeof openTableRegistry>[0];

// Run as a process of its own: registers a page unless it is there, and adds one to its generation, so many times.
const { where, times } = JSON.parse(process.argv[2] ?? "") as { where: RegistryPlace; times: number };
const registry = "tableName" in where ? openTableRegistry(where) : openSqlRegistry(where);
for (let done = 0; done < times; ) {
  const known = await registry.get(page("counted").id);
  const item = known?.item ?? page("counted");
  try {
    await registry.put({ ...item, reindexGeneration: item.reindexGeneration + 1 }, known?.version ?? null);
    done += 1;
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
  }
}
await registry.close();
