import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** The backend in a process of its own. */
export interface EmbeddedProcess {
  readonly url: string;
  /** The most memory it had since the last time somebody asked, in bytes. */
  mostMemory(): Promise<number>;
  kill(): Promise<void>;
}

export async function startEmbeddedProcess(folder: string): Promise<EmbeddedProcess> {
  const child = fork(join(import.meta.dirname, "embedded-child.ts"), [folder]);
  const { url } = await message<{ url: string }>(child);
  return {
    url,
    async mostMemory() {
      child.send("memory");
      return (await message<{ most: number }>(child)).most;
    },
    async kill() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

async function message<T>(child: ChildProcess): Promise<T> {
  const gone = new AbortController();
  const leave = (): void => gone.abort(new Error("the backend's process ended"));
  child.once("exit", leave);
  try {
    const [answer] = await once(child, "message", { signal: gone.signal });
    return answer as T;
  } finally {
    child.off("exit", leave);
  }
}

/** Sends a form with a file of so many bytes without ever having it in memory. The text of the response. */
export async function sendForm(
  url: string,
  form: { readonly field: string; readonly bytes: number; readonly fields?: Readonly<Record<string, string>> },
): Promise<string> {
  const outgoing = request(url, { method: "POST", headers: FORM_HEADERS });
  const response = once(outgoing, "response");
  await pipeline(Readable.from(formBlocks(form)), outgoing);
  const [incoming] = (await response) as [Readable];
  return Buffer.concat(await incoming.toArray()).toString("utf8");
}

/** Sends the beginning of a form and no more; ends when the other side is gone. */
export function beginForm(url: string, field: string): { readonly broken: Promise<unknown> } {
  const outgoing = request(url, { method: "POST", headers: FORM_HEADERS });
  outgoing.write(`${partHead(field)}only the beginning`);
  return { broken: once(outgoing, "error") };
}

const FORM_HEADERS = { "content-type": "multipart/form-data; boundary=xxx" };
const BLOCK_BYTES = 64 * 1024;

function* formBlocks(form: Parameters<typeof sendForm>[1]): Generator<Buffer> {
  for (const [name, value] of Object.entries(form.fields ?? {})) {
    yield Buffer.from(`--xxx\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
  }
  yield Buffer.from(partHead(form.field));
  for (let left = form.bytes; left > 0; left -= BLOCK_BYTES) yield Buffer.alloc(Math.min(left, BLOCK_BYTES), "x");
  yield Buffer.from("\r\n--xxx--\r\n");
}

function partHead(field: string): string {
  return `--xxx\r\nContent-Disposition: form-data; name="${field}"; filename="big.bin"\r\n\r\n`;
}
