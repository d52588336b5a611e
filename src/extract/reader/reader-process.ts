import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type FileHandle, open } from "node:fs/promises";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { ReaderError } from "../../contracts/document.ts";
import { inMegabytes } from "../limits.ts";
import {
  BYTES_FD,
  BYTES_REQUEST,
  CHUNK_BYTES,
  type ReadAnswer,
  type ReadRequest,
  type ReadTask,
  TOO_MUCH_MEMORY,
  TOO_MUCH_TIME,
} from "./messages.ts";
import { readerCommand } from "./reader-command.ts";

/**
 * The limit of time is one of work: a busy machine must not condemn a file. A reader that neither works nor answers is given
 * up after so much more, and that is no verdict on the file.
 */
const PATIENCE_MS = 120_000;

/** A process that reads files, one at a time. It never keeps ours alive, and ends with ours. */
export class ReaderProcess {
  readonly #child: ChildProcess;
  /** Over which it asks for bytes of the file, and gets them. */
  readonly #bytes: Socket;
  /** Settles when the process has started, or could not. */
  readonly #started: Promise<void>;
  #isEnded = false;
  #filesRead = 0;
  #memoryBytes = 0;

  constructor() {
    const { program, ...command } = readerCommand();
    this.#child = fork(program, {
      ...command,
      execArgv: [...command.execArgv],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc", "pipe"],
    });
    this.#bytes = this.#child.stdio[BYTES_FD] as Socket;
    this.#bytes.on("error", () => undefined);
    this.#started = new Promise((resolve, reject) => {
      this.#child.once("message", () => resolve());
      this.#child.once("error", reject);
      this.#child.once("exit", (code, by) => reject(new Error(`start reader: it ended at once (${by ?? code})`)));
    });
    // Pending reads get both errors; without listeners this process would end here.
    this.#started.catch(() => undefined);
    this.#child.on("error", () => undefined);
    this.#rest();
  }

  get isAlive(): boolean {
    return !this.#isEnded && this.#child.connected && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get filesRead(): number {
    return this.#filesRead;
  }

  get memoryBytes(): number {
    return this.#memoryBytes;
  }

  /** Kills the reader when the signal aborts or there is no answer. The clock starts when the reader has. */
  async read(task: ReadTask, signal: AbortSignal): Promise<ReadAnswer> {
    signal.throwIfAborted();
    if (task.kind === "page") return this.#ask(task, signal);
    const { path, ...request } = task;
    const file = await open(path, "r");
    const serving = new AbortController();
    try {
      const { size } = await file.stat();
      if (size <= CHUNK_BYTES) {
        const bytes = await file.readFile();
        return await this.#ask({ ...request, size: bytes.length, bytes }, signal);
      }
      const failed = serveBytes(this.#bytes, file, serving.signal);
      return await Promise.race([this.#ask({ ...request, size }, signal), failed]);
    } catch (error) {
      // It may wait for bytes that never come.
      this.end();
      throw error;
    } finally {
      serving.abort();
      file.close().catch(() => undefined);
    }
  }

  async #ask(request: ReadRequest, signal: AbortSignal): Promise<ReadAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<ReadAnswer>();
    const onExit = (code: number | null, by: string | null): void => reject(explainEnd(code, by, request));
    const onAbort = (): void => this.#giveUp(reject, signal.reason);
    let timer: NodeJS.Timeout | undefined;
    const send = (): void => {
      if (this.#isEnded) return;
      this.#child.once("message", resolve as (answer: unknown) => void).once("exit", onExit);
      timer = setTimeout(() => this.#giveUp(reject, noAnswer(request)), request.limits.timeoutMs + PATIENCE_MS);
      this.#child.send(request, (error) => error && reject(error));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#child.ref();
    this.#started.then(send).catch(reject);
    try {
      const answer = await promise;
      this.#memoryBytes = answer.memoryBytes;
      return answer;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      this.#child.off("message", resolve).off("exit", onExit);
      this.#filesRead += 1;
      this.#rest();
    }
  }

  end(): void {
    this.#isEnded = true;
    this.#child.kill("SIGKILL");
  }

  #giveUp(reject: (reason: unknown) => void, reason: unknown): void {
    reject(reason);
    this.end();
  }

  #rest(): void {
    this.#child.unref();
    this.#child.channel?.unref();
    this.#bytes.unref();
  }
}

function noAnswer({ kind, limits }: ReadRequest): Error {
  return new ReaderError(`read ${kind}: no answer within ${inSeconds(limits.timeoutMs + PATIENCE_MS)} s`);
}

function explainEnd(code: number | null, signal: string | null, { kind, limits }: ReadRequest): Error {
  const by = signal ?? signalIn(code);
  if (by === TOO_MUCH_TIME) {
    return new ReaderError(`The ${kind} takes too long to read: the limit is ${inSeconds(limits.timeoutMs)} s.`);
  }
  // 134 and SIGABRT are how the engine ends when the heap is full.
  if (by === TOO_MUCH_MEMORY || by === "SIGABRT" || code === 134) {
    return new ReaderError(
      `The ${kind} needs too much memory to be read: the limit is ${inMegabytes(limits.maxMemoryBytes)} MB.`,
    );
  }
  // Where there are no signals, an end says no more than this.
  if (by === undefined || by === "SIGSEGV" || by === "SIGBUS" || by === "SIGILL" || by === "SIGTRAP") {
    return new ReaderError(`The ${kind} is damaged or made to hurt: reading it took too much or ended in a crash.`);
  }
  return new ReaderError(`read ${kind}: the reader was ended from outside (${by})`);
}

/** A shell that started the reader tells of its signal by a number. */
function signalIn(code: number | null): string | undefined {
  const signals = process.platform === "linux" ? Object.entries(constants.signals) : [];
  return signals.find(([, number]) => number + 128 === code)?.[0];
}

function inSeconds(ms: number): number {
  return Math.round(ms / 1000);
}

/**
 * Gives a reader the bytes it asks for, of this file and no other, until the signal aborts. Rejects when the file cannot be read,
 * and settles in no other way. However much is asked for, one chunk is held.
 */
function serveBytes(socket: Socket, file: FileHandle, signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  let asked = Buffer.alloc(0);
  const answerAll = async (): Promise<void> => {
    for (; asked.length >= BYTES_REQUEST && !signal.aborted; asked = asked.subarray(BYTES_REQUEST)) {
      await sendBytes(socket, file, { offset: asked.readDoubleLE(0), length: asked.readDoubleLE(8) }, signal);
    }
  };
  const onData = (bytes: Buffer): void => {
    asked = Buffer.concat([asked, bytes]);
    socket.pause();
    answerAll().then(
      () => !signal.aborted && socket.resume(),
      (error: unknown) => !signal.aborted && reject(error),
    );
  };
  socket.on("data", onData).resume();
  signal.addEventListener("abort", () => socket.off("data", onData).pause(), { once: true });
  return promise;
}

/** Each chunk after its length; an empty one is the last. */
async function sendBytes(
  socket: Socket,
  file: FileHandle,
  { offset, length }: { readonly offset: number; readonly length: number },
  signal: AbortSignal,
): Promise<void> {
  if (!Number.isSafeInteger(offset) || offset < 0 || !Number.isSafeInteger(length))
    throw new Error("read file: a reader asked for no bytes");
  for (let done = 0; !signal.aborted && socket.writable; ) {
    const chunk = Buffer.allocUnsafe(4 + Math.max(0, Math.min(CHUNK_BYTES, length - done)));
    const { bytesRead } =
      chunk.length > 4 ? await file.read(chunk, 4, chunk.length - 4, offset + done) : { bytesRead: 0 };
    chunk.writeUInt32LE(bytesRead, 0);
    done += bytesRead;
    if (!socket.write(chunk.subarray(0, 4 + bytesRead))) await drained(socket, signal);
    if (bytesRead === 0) return;
  }
}

/** Also when the reader has gone: its end says why. */
async function drained(socket: Socket, signal: AbortSignal): Promise<void> {
  await once(socket, "drain", { signal }).catch(() => undefined);
}
