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
  const startedAt = performance.now();
  const endedAt = new Map<string, number>();
  const app = await openFolderApp();
  const { embed } = await crawlFolder(app, (line) => {
    const step = STEPS.find(([, end]) => end.test(line))?.[0];
    if (step !== undefined) endedAt.set(step, performance.now());
  });
  await app.close();
  endedAt.set("end", performance.now());
  let before = startedAt;
  const seconds = [...endedAt]
    .sort(([, a], [, b]) => a - b)
    .map(([step, at]) => {
      const took = (at - before) / 1000;
      before = at;
      return [step, Math.round(took * 100) / 100] as const;
    });
  return { files: embed.added, ...Object.fromEntries(seconds) };
});
