import { filesSuite } from "./embedded-files-suite.ts";
import { sqliteHouse } from "./embedded-fixture.ts";

filesSuite("SQLite", sqliteHouse);
