import { parseArgs } from "node:util";
import { folderHistorySoak } from "./folder-history-soak.ts";
import { folderKillSoak } from "./folder-kill-soak.ts";
import { generationSoak } from "./generation-soak.ts";
import { historySoak } from "./history-soak.ts";
import { ingestSoak } from "./ingest-soak.ts";
import { killSoak } from "./kill-soak.ts";
import { knowledgeSoak } from "./knowledge-soak.ts";
import { manifestSoak } from "./manifest-soak.ts";
import { parallelSoak } from "./parallel-soak.ts";
import { planSoak } from "./plan-soak.ts";
import type { Soak } from "./soak.ts";
import { storySoak } from "./story-soak.ts";
import { verifySoak } from "./verify-soak.ts";
import { webSoak } from "./web-soak.ts";

const SOAKS: Readonly<Record<string, Soak>> = {
  stories: storySoak,
  histories: historySoak,
  plans: planSoak,
  generations: generationSoak,
  kills: killSoak,
  parallel: parallelSoak,
  web: webSoak,
  ingest: ingestSoak,
  folders: folderHistorySoak,
  "folder-kills": folderKillSoak,
  manifest: manifestSoak,
  knowledge: knowledgeSoak,
  verify: verifySoak,
};

const USAGE = `npm run soak -- [${Object.keys(SOAKS).join("|")}] [--seed N] [--count N]

  --seed N    the first seed (1); alone, it plays this one only
  --count N   how many seeds
`;

const say = (line: string): boolean => process.stdout.write(`${line}\n`);

/** Returns the seeds that failed. */
async function soak(name: string, { play }: Soak, from: number, count: number): Promise<number[]> {
  say(`\n== ${name}: ${count} ==`);
  const failed: number[] = [];
  for (let seed = from; seed < from + count; seed++) {
    const startedAt = performance.now();
    try {
      const told = await play(seed);
      say(`ok   ${name} ${seed} (${Math.round(performance.now() - startedAt)} ms) ${told}`);
    } catch (error) {
      failed.push(seed);
      say(`FAIL ${name} ${seed}: ${chainOf(error)}\n     again: npm run soak -- ${name} --seed ${seed}`);
    }
  }
  return failed;
}

function chainOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? (error.stack ?? error.message) : `${error.message}\n${chainOf(error.cause)}`;
}

function readNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`'${text}' is no number from 1 on.`);
  return Number(text);
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { seed: { type: "string" }, count: { type: "string" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) {
    say(USAGE);
    return 0;
  }
  const unknown = positionals.filter((name) => !(name in SOAKS));
  if (unknown.length > 0) throw new Error(`There is no soak '${unknown.join("', '")}'.`);
  const seed = readNumber(values.seed);
  const count = readNumber(values.count);
  const summary: string[] = [];
  let failures = 0;
  for (const [name, each] of Object.entries(SOAKS)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    const times = count ?? (seed === undefined ? each.count : 1);
    const failed = await soak(name, each, seed ?? 1, times);
    failures += failed.length;
    summary.push(`${name}: ${times - failed.length} of ${times} ended well${failed.length ? `; not ${failed}` : ""}`);
  }
  say(`\n${summary.join("\n")}`);
  return failures === 0 ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  process.exitCode = 2;
}
