// Files are read in processes with limits of work and memory, and one bad file does not harm the next.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createExtractor } from "../../src/extract/extractor.ts";
import { makePdf } from "./make-pdf.ts";
import { writeFiles } from "./write-files.ts";

const signal = new AbortController().signal;
const PROGRAM = fileURLToPath(new URL("./hold-reader.ts", import.meta.url));
const MEGABYTE = 1024 * 1024;

const small = makePdf({ pages: [[{ text: "Small", y: 700 }]] });
/** Some seconds of work. */
const slow = makePdf({
  pages: Array.from({ length: 4000 }, (_, page) => [{ text: `Page ${page}`, y: 700 }]),
});

test("a file that takes too much work is ended and blamed, and the next one is read", async (t) => {
  const path = await writeFiles(t, { slow, small });
  await assert.rejects(createExtractor({ timeoutMs: 100 }).extract(path("slow"), "pdf", signal), {
    name: "ExtractError",
    code: "invalid_file",
    message: /takes too long to read: the limit is 0 s/,
  });
  assert.match((await createExtractor().extract(path("small"), "pdf", signal)).markdown, /Small/);
});

test("a file that takes too much memory is ended and blamed, and the next one is read", async (t) => {
  const large = Buffer.alloc(45 * MEGABYTE, "word ");
  const path = await writeFiles(t, { large, small });
  await assert.rejects(createExtractor({ maxMemoryBytes: 30 * MEGABYTE }).extract(path("large"), "txt", signal), {
    name: "ExtractError",
    code: "invalid_file",
    message: /needs too much memory to be read: the limit is 30 MB/,
  });
  assert.match((await createExtractor().extract(path("small"), "pdf", signal)).markdown, /Small/);
});

test("a file over its limit is blamed however soon it was read", async (t) => {
  // Several milliseconds of work, also for a fast machine and a reader that is warm: limits are counted in whole ones.
  const path = await writeFiles(t, { text: "word ".repeat(6_000_000) });
  await createExtractor().extract(path("text"), "txt", signal);
  await assert.rejects(createExtractor({ timeoutMs: 0 }).extract(path("text"), "txt", signal), {
    message: /takes too long to read/,
  });
});

test("memory of earlier files is not held against the next", async (t) => {
  const path = await writeFiles(t, { small });
  const extractor = createExtractor({ maxMemoryBytes: 150 * MEGABYTE });
  for (let times = 0; times < 20; times += 1) await extractor.extract(path("small"), "pdf", signal);
});

test("an abort ends the reading at once, and what waits its turn is not held up by it", async (t) => {
  const path = await writeFiles(t, { slow, small });
  const extractor = createExtractor();
  const controller = new AbortController();
  const reason = new Error("stop now");
  const held = [1, 2].map(() => extractor.extract(path("slow"), "pdf", controller.signal));
  const waiting = extractor.extract(path("small"), "pdf", signal);
  const givenUp = extractor.extract(path("small"), "pdf", controller.signal);
  controller.abort(reason);
  for (const aborted of [...held, givenUp]) await assert.rejects(aborted, reason);
  assert.match((await waiting).markdown, /Small/);
});

test("many at once are all read", async (t) => {
  const path = await writeFiles(t, { small, text: "x".repeat(100_000) });
  const extractor = createExtractor();
  const read = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      extractor.extract(path(at % 2 ? "small" : "text"), at % 2 ? "pdf" : "txt", signal),
    ),
  );
  assert.equal(read.filter(({ markdown }) => markdown.length > 10).length, 20);
});

test("a process ends by itself while its reader rests", async (t) => {
  const path = await writeFiles(t, { "a.pdf": small });
  const child = spawn(process.execPath, [PROGRAM, path("a.pdf")], { stdio: ["ignore", "ignore", "inherit"] });
  assert.deepEqual(await once(child, "exit"), [0, null]);
});

test("a reader ends with its process, even one that was killed while the reader was busy", async (t) => {
  const path = await writeFiles(t, { "a.pdf": small, "b.pdf": slow });
  const child = spawn(process.execPath, [PROGRAM, path("a.pdf"), path("b.pdf")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const readers = await descendantsOf(child.pid ?? 0);
  assert.equal(readers.length > 0, process.platform === "linux");
  child.kill("SIGKILL");
  await once(child, "exit");
  for (const pid of readers) await ended(pid);
});

test("other work goes on while a hostile file is read", async (t) => {
  const path = await writeFiles(t, { slow, small });
  const extractor = createExtractor();
  await extractor.extract(path("small"), "pdf", signal);
  const quiet: number[] = [];
  const during: number[] = [];
  for (let times = 0; times < 5; times += 1) {
    quiet.push(await countRounds());
    const controller = new AbortController();
    const hostile = extractor.extract(path("slow"), "pdf", controller.signal);
    during.push(await countRounds());
    controller.abort(new Error("seen enough"));
    await assert.rejects(hostile, /seen enough/);
  }
  // Read in this process, every page would take the time of hundreds of rounds.
  assert.ok(median(during) * 4 > median(quiet), `rounds: ${during}, and without the file ${quiet}`);
});

/** Turns of the event loop for the same work of this process, whatever else the machine does: what other requests would get. */
async function countRounds(): Promise<number> {
  const startedAt = process.cpuUsage();
  const spentMs = ({ user, system } = process.cpuUsage(startedAt)): number => (user + system) / 1000;
  let rounds = 0;
  for (; spentMs() < 100; rounds += 1) await new Promise((resolve) => setImmediate(resolve));
  return rounds;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** The reader, and what it was started through. */
async function descendantsOf(pid: number): Promise<number[]> {
  if (process.platform !== "linux") return [];
  const list = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  const children = list.match(/\d+/g)?.map(Number) ?? [];
  return [...children, ...(await Promise.all(children.map(descendantsOf))).flat()];
}

/** Settles when there is no such process any more; a test that waits too long fails by its own limit. */
async function ended(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
      const state = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "Z");
      if (/\) Z/.test(state) || state === "Z") return;
    } catch {
      return;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
