// File batches of the embedded backend keep the wire contract, in SQLite.
import { batchesSuite } from "./embedded-batches-suite.ts";
import { sqliteHouse } from "./embedded-fixture.ts";

batchesSuite("SQLite", sqliteHouse);
