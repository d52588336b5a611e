import { openVectorModel } from "../../src/index/embedding/open-vector-model.ts";
import { createSearchThreads } from "../../src/index/search/search-threads.ts";
import { openSqliteStores } from "../../src/index/sqlite/open-sqlite-stores.ts";
import { found, openIndexIn } from "./index-fixture.ts";

/** Searches once and closes nothing. */
const [folder = ""] = process.argv.slice(2);
const settings = { kind: "built-in" } as const;
const threads = createSearchThreads({ folder, model: settings });
const provider = openSqliteStores(folder, { model: await openVectorModel(settings), threads });
process.stdout.write(`${(await found(openIndexIn(provider), "otter")).join()}\n`);
