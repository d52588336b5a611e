import { batchesSuite } from "./embedded-batches-suite.ts";
import { sqliteHouse } from "./embedded-fixture.ts";

batchesSuite("SQLite", sqliteHouse);
