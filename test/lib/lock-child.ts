import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";

/** Takes the write lock of a file, says so, and gives it back when it is told to. */
const db = new DatabaseSync(process.argv[2] ?? "");
db.exec("BEGIN IMMEDIATE; INSERT INTO notes VALUES ('child')");
process.stdout.write("locked\n");
await once(process.stdin, "data");
db.exec("COMMIT");
db.close();
process.stdin.destroy();
