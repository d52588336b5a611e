import { readSync, writeSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { Worker } from "node:worker_threads";
import { ExtractError } from "../../contracts/document.ts";
import { moduleBeside } from "../../lib/module-beside.ts";
import { bytesFetched, bytesOf } from "../byte-source.ts";
import type { ExtractLimits } from "../limits.ts";
import { readDocument } from "../read-document.ts";
import { readPage } from "../web/read-page.ts";
import {
  ALLOWED_CPU_MS,
  ALLOWED_KILOBYTES,
  BYTES_FD,
  BYTES_REQUEST,
  cpuMs,
  endWhenOver,
  READY,
  type ReadAnswer,
  type ReadOutcome,
  type ReadRequest,
  SHARED_BYTES,
} from "./messages.ts";

/** The program of a reader: a process of its own that reads one document after the other and may be killed at any time. */
function readFiles(): void {
  const shared = new SharedArrayBuffer(SHARED_BYTES);
  const allowed = new Int32Array(shared);
  const watchdog = new Worker(moduleBeside(import.meta.url, "watchdog"), {
    workerData: { shared, parent: process.ppid },
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 },
  });
  // Without it nothing would be safe.
  watchdog.on("error", () => process.exit(1));
  watchdog.unref();
  yieldToServer();
  process.on("disconnect", () => process.exit());
  process.on("message", async (request: ReadRequest) => {
    allow(allowed, request.limits);
    const outcome = await read(request);
    // The watchdog has no turn in time where a file is small or the machine busy: the verdict must not depend on that.
    endWhenOver(allowed);
    Atomics.store(allowed, ALLOWED_KILOBYTES, 0);
    const answer: ReadAnswer = { outcome, memoryBytes: process.memoryUsage.rss() };
    process.send?.(answer);
  });
  watchdog.once("online", () => process.send?.(READY));
}

/** Measured from what earlier files left behind: the verdict must not depend on them. */
function allow(allowed: Int32Array<SharedArrayBuffer>, { maxMemoryBytes, timeoutMs }: ExtractLimits): void {
  Atomics.store(allowed, ALLOWED_CPU_MS, Math.ceil(cpuMs() + timeoutMs));
  Atomics.store(allowed, ALLOWED_KILOBYTES, Math.ceil((process.memoryUsage.rss() + maxMemoryBytes) / 1024));
  Atomics.notify(allowed, ALLOWED_KILOBYTES);
}

async function read(request: ReadRequest): Promise<ReadOutcome> {
  try {
    if (request.kind === "page") return { status: "read page", page: readPage(request) };
    const { size, bytes, fileType, limits } = request;
    const source = bytes ? bytesOf(Buffer.from(new Uint8Array(bytes).buffer)) : bytesFetched(size, fetchBytes);
    return { status: "read", document: await readDocument(source, fileType, limits) };
  } catch (error) {
    if (error instanceof ExtractError) return { status: "refused", code: error.code, message: error.message };
    const { code = "", message } = error as NodeJS.ErrnoException;
    return { status: "failed", code, message };
  }
}

/** Fewer where the file ends earlier than it did. */
function fetchBytes(offset: number, length: number): Buffer {
  const question = Buffer.alloc(BYTES_REQUEST);
  question.writeDoubleLE(offset, 0);
  question.writeDoubleLE(length, 8);
  writeSync(BYTES_FD, question);
  const bytes = Buffer.from(new ArrayBuffer(length));
  const header = Buffer.alloc(4);
  for (let done = 0; ; ) {
    fill(header);
    const count = header.readUInt32LE(0);
    if (count === 0) return done < length ? bytes.subarray(0, done) : bytes;
    fill(bytes.subarray(done, done + count));
    done += count;
  }
}

function fill(bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(BYTES_FD, bytes, done, bytes.length - done, null);
    if (count === 0) throw new Error("read file: nobody gives its bytes any more");
    done += count;
  }
}

/** Searches come first where processors are few. Some systems do not allow it, and then all are equal. */
function yieldToServer(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Nothing depends on it.
  }
}

readFiles();
