import { callHere } from "../cli/call-here.ts";
import { ActClock, type ClockState } from "./act-clock.ts";
import type { Called } from "./call-commands.ts";

const input = JSON.parse(process.argv[2] ?? "") as { calls: string[][]; clock: ClockState };
const clock = new ActClock(input.clock);
const called: Called[] = [];
for (const args of input.calls) {
  clock.next();
  called.push({ args, ...(await callHere(args)) });
}
process.stdout.write(`${JSON.stringify({ called, clock: clock.state })}\n`);
