import { openVectorModel } from "../../src/index/embedding/open-vector-model.ts";
import { createSearchThreads } from "../../src/index/search/search-threads.ts";
import { openSqliteHouse } from "../../src/index/sqlite/open-sqlite-house.ts";
import { found, openIndexIn } from "./index-fixture.ts";

/** Searches once and closes nothing. */
const [folder = ""] = process.argv.slice(2);
const settings = { kind: "built-in" } as const;
const threads = createSearchThreads({ folder, model: settings });
const house = openSqliteHouse(folder, { model: await openVectorModel(settings), threads });
process.stdout.write(`${(await found(openIndexIn(house), "otter")).join()}\n`);
