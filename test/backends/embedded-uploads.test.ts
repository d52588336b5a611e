import { sqliteHouse } from "./embedded-fixture.ts";
import { uploadsSuite } from "./embedded-uploads-suite.ts";

uploadsSuite("SQLite", sqliteHouse);
