// Files of the embedded backend keep the wire contract, in SQLite.
import { filesSuite } from "./embedded-files-suite.ts";
import { sqliteHouse } from "./embedded-fixture.ts";

filesSuite("SQLite", sqliteHouse);
