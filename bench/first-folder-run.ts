import { crawlFolder, openFolderApp } from "./folder-app.ts";
import { report } from "./measure.ts";

/** The line of the log with which a step ends. Of one that comes often, the last one counts. */
const STEPS: readonly [string, RegExp][] = [
  ["start", /^Source '/],
  ["list", /^Listed /],
  ["copy", /\] Downloaded '/],
  ["check", /^Integrity check /],
  ["find texts", /^Texts to be kept/],
  ["texts", /^Kept: /],
  ["index", /^Learning vectors/],
  ["learning", /^Report '/],
];

await report(async () => {
  const clocks = (): [ms: number, cpuMs: number] => {
    const { user, system } = process.cpuUsage();
    return [performance.now(), (user + system) / 1000];
  };
  const endedAt = new Map([["", clocks()]]);
  const app = await openFolderApp();
  const { embed } = await crawlFolder(app, (line) => {
    const step = STEPS.find(([, end]) => end.test(line))?.[0];
    if (step !== undefined) endedAt.set(step, clocks());
  });
  await app.close();
  endedAt.set("end", clocks());
  const steps = [...endedAt].sort(([, [a]], [, [b]]) => a - b);
  const seconds: Record<string, number> = {};
  for (const [i, [step, [at, cpuAt]]] of steps.entries()) {
    const [, [before, cpuBefore]] = steps[i - 1] ?? ["", [at, cpuAt]];
    if (step === "") continue;
    seconds[step] = Math.round((at - before) / 10) / 100;
    seconds[`${step} CPU`] = Math.round((cpuAt - cpuBefore) / 10) / 100;
  }
  return { files: embed.added, ...seconds };
});
