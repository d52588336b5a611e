export interface Called {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const [writeOut, writeErr] = [process.stdout.write, process.stderr.write];
let calls = 0;

// Every call listens anew.
for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0);

/** The program itself, as `bin/lockstep.mjs` runs it, in this process: what it loaded before, it need not load again. */
export async function callHere(args: readonly string[]): Promise<Called> {
  let [out, err] = ["", ""];
  process.stdout.write = ((text: string | Uint8Array) => {
    out += Buffer.from(text as Uint8Array).toString();
    return true;
  }) as typeof process.stdout.write;
  process.stderr.write = ((text: string | Uint8Array) => {
    err += Buffer.from(text as Uint8Array).toString();
    return true;
  }) as typeof process.stderr.write;
  process.argv = [process.argv[0] ?? "", "lockstep", ...args];
  process.exitCode = 0;
  await import(`../../src/cli/main.ts?call=${calls++}`);
  process.stdout.write = writeOut;
  process.stderr.write = writeErr;
  const code = Number(process.exitCode);
  process.exitCode = 0;
  return { code, out, err };
}
