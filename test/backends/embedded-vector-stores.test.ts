// Vector stores of the embedded backend keep the wire contract, in SQLite.
import { sqliteHouse } from "./embedded-fixture.ts";
import { vectorStoresSuite } from "./embedded-vector-stores-suite.ts";

vectorStoresSuite("SQLite", sqliteHouse);
