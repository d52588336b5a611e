// Uploads in parts keep the wire contract, in SQLite.
import { sqliteHouse } from "./embedded-fixture.ts";
import { uploadsSuite } from "./embedded-uploads-suite.ts";

uploadsSuite("SQLite", sqliteHouse);
