import { ActClock, type ClockState } from "./act-clock.ts";
import type { Called } from "./call-commands.ts";

const input = JSON.parse(process.argv[2] ?? "") as { calls: string[][]; clock: ClockState };
const clock = new ActClock(input.clock);
const [writeOut, writeErr] = [process.stdout.write, process.stderr.write];

// Every call listens anew.
for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0);

const called: Called[] = [];
for (const args of input.calls) {
  clock.next();
  called.push(await call(args));
}
process.exitCode = 0;
writeOut.call(process.stdout, `${JSON.stringify({ called, clock: clock.state })}\n`);

/** The program itself, as `bin/lockstep.mjs` runs it; what it loaded before, it need not load again. */
async function call(args: readonly string[]): Promise<Called> {
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
  await import(`../../src/cli/main.ts?call=${called.length}`);
  process.stdout.write = writeOut;
  process.stderr.write = writeErr;
  return { args, code: Number(process.exitCode), out, err };
}
