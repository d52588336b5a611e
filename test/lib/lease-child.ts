import { open, readFile, rm, writeFile } from "node:fs/promises";
import { acquireLease, withFileLock } from "../../src/lib/file-lease.ts";

// Run as a process of its own: `hold <lease>`, `count <lock> <counter> <times>` or `enter <lease> <marker>`.
const [verb = "", path = "", file = "", times = "0"] = process.argv.slice(2);

if (verb === "hold") {
  await acquireLease(path, { owner: "the child" });
  process.send?.("held");
  setInterval(() => undefined, 60_000);
} else if (verb === "count") {
  for (let i = 0; i < Number(times); i++) {
    await withFileLock(path, async () => writeFile(file, String(Number(await readFile(file, "utf8")) + 1)));
  }
  process.disconnect?.();
} else if (verb === "enter") {
  const lease = await acquireLease(path, { owner: `process ${process.pid}`, pollMs: 5 });
  // Fails when somebody else is inside.
  await (await open(file, "wx")).close();
  if (!(await lease.stillHeld())) throw new Error("lost the lease");
  await rm(file);
  await lease.release();
  process.disconnect?.();
}
