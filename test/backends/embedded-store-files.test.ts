// Files of vector stores keep the wire contract, in SQLite.
import { sqliteHouse } from "./embedded-fixture.ts";
import { storeFilesSuite } from "./embedded-store-files-suite.ts";

storeFilesSuite("SQLite", sqliteHouse);
