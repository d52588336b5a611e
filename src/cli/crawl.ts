import { applyFileJob, applyJob, crawlJob, planFileJob } from "../app/jobs.ts";
import { BUILT_IN_KINDS } from "../app/source-kinds.ts";
import { BadInputError } from "../contracts/errors.ts";
import { parseDomainId, parseSourceId, parseVectorStoreId } from "../contracts/ids.ts";
import {
  CRAWL_MODES,
  type CrawlMode,
  type CrawlRequest,
  type CrawlResult,
  crawlRequest,
  crawlScopes,
  DEFAULT_RETRY_BATCHES,
  RETRY_BATCHES,
  STEPS,
  type Step,
  sayLeftOut,
  VISIBILITIES,
  type Visibility,
} from "../engine/crawl-request.ts";

import { parsePlanId } from "../engine/stored-plans.ts";
import { sumUp } from "../engine/tally.ts";
import { pathExists } from "../lib/file-system.ts";
import { plural } from "../lib/text.ts";
import type { Call, Command, OptionSpec } from "./command.ts";
import { runJob } from "./run-job.ts";

const RETRY_CHOICES = Array.from({ length: RETRY_BATCHES.to }, (_, i) => String(RETRY_BATCHES.from + i));

/** The options of a crawl and of each of its steps. */
const OPTIONS: Readonly<Record<string, OptionSpec>> = {
  mode: {
    value: "mode",
    choices: CRAWL_MODES,
    default: "incremental",
    help: "Everything again, or only what changed.",
  },
  scope: {
    value: "scope",
    choices: crawlScopes(BUILT_IN_KINDS),
    default: "all",
    help: "The kinds of sources to crawl.",
  },
  source: { value: "source_id", help: "Only this source." },
  "dry-run": { help: "Shows what would be done and changes nothing." },
  plan: {
    value: "file",
    help: "Only stores the plan of a dry run in this file, for 'lockstep apply'.",
  },
  "retry-batches": {
    value: "number",
    choices: RETRY_CHOICES,
    default: String(DEFAULT_RETRY_BATCHES),
    help: "How often an item that fails is tried.",
  },
  "retry-failed": { help: "Tries files in 03_failed again although they did not change." },
  "confirm-deletes": { help: "Carries out removals that are held because there are too many." },
  "confirm-worse": {
    help: "Makes additions and changes visible although the domain's questions are answered worse with them.",
  },
  swap: { help: "Fills a fresh vector store and changes over to it at the end (OpenAI, Azure; with --mode full)." },
  force: {
    help: "Extracts, cuts and embeds everything anew, also what the index has with the same content (with --mode full).",
  },
  visibility: {
    value: "when",
    choices: VISIBILITIES,
    default: "crawl",
    help: "Readers see what changed when the whole crawl is done, or each source when it is in (embedded index).",
  },
  checksum: {
    help: "Reads every file, at its source and on our disk, whatever its size and time say. Every blob and object is downloaded, which its service may charge for.",
  },
  "check-hashes": { help: "The older name of --checksum." },
};

const VECTOR_STORE: OptionSpec = {
  value: "vector_store_id",
  help: "Embeds into this store instead of the domain's own.",
};

export const crawlCommand: Command = {
  ...stepCommand("crawl", STEPS),
  examples: [
    "lockstep crawl DEMO",
    "lockstep crawl DEMO --mode full --source docs",
    "lockstep crawl DEMO --mode full --force",
    "lockstep crawl DEMO --scope folders --checksum",
    "lockstep crawl DEMO --dry-run",
    "lockstep crawl DEMO --plan demo.plan.jsonl",
  ],
};

export const downloadCommand = stepCommand("download", ["download"]);

export const processCommand = stepCommand("process", ["process"]);

export const embedCommand: Command = {
  ...stepCommand("embed", ["embed"], {
    "vector-store": VECTOR_STORE,
  }),
  examples: ["lockstep embed DEMO", "lockstep embed DEMO --vector-store vs_123 --mode full"],
};

export const applyCommand: Command = {
  name: "apply",
  arguments: ["PLAN"],
  options: {
    strict: { help: "Does nothing at all if anything is not as planned any more." },
    "dry-run": { help: "Shows what would be done, and what is not as planned, and changes nothing." },
  },
  examples: ["lockstep apply demo.plan.jsonl", "lockstep apply plan_3f9a1c0b2d4e5f60 --strict"],
  async run(call) {
    const [plan = ""] = call.positionals;
    const options = { strict: call.flag("strict"), dryRun: call.flag("dry-run") };
    return await runJob({
      async prepare(app) {
        if (await pathExists(plan)) return await applyFileJob(app, plan, options);
        const planId = parsePlanId(plan);
        if (planId !== undefined) return await applyJob(app, planId, options);
        throw new BadInputError(`There is no file '${plan}', and it is no plan id like plan_3f9a1c0b2d4e5f60.`);
      },
      summary: (data) =>
        sumUpSources(data, (data as Partial<CrawlResult> | undefined)?.steps ?? STEPS) + sumUpLeft(data),
    });
  },
};

function stepCommand(name: string, steps: readonly Step[], more: Readonly<Record<string, OptionSpec>> = {}): Command {
  return {
    name,
    arguments: ["DOMAIN"],
    options: { ...OPTIONS, ...more },
    examples: [`lockstep ${name} DEMO`, `lockstep ${name} DEMO --dry-run`],
    async run(call) {
      const request = readRequest(call, steps);
      return await runJob({
        async prepare(app) {
          const planFile = call.text("plan");
          if (planFile !== undefined) return await planFileJob(app, request, planFile);
          await app.checkCrawl(request);
          return crawlJob(app, request, { dryRun: call.flag("dry-run") });
        },
        summary: (data) => sumUpSources(data, steps),
      });
    },
  };
}

function readRequest(call: Call, steps: readonly Step[]): CrawlRequest {
  const sourceId = call.text("source");
  const store = call.text("vector-store");
  return crawlRequest(parseDomainId(call.positionals[0] ?? ""), {
    steps,
    mode: call.text("mode") as CrawlMode,
    scope: call.text("scope") ?? "all",
    sourceId: sourceId === undefined ? undefined : parseSourceId(sourceId),
    vectorStoreId: store === undefined ? undefined : parseVectorStoreId(store),
    swap: call.flag("swap"),
    force: call.flag("force"),
    visibility: call.text("visibility") as Visibility,
    confirmDeletes: call.flag("confirm-deletes"),
    confirmWorse: call.flag("confirm-worse"),
    retryBatches: Number(call.text("retry-batches")),
    retryFailed: call.flag("retry-failed"),
    checksum: call.flag("checksum") || call.flag("check-hashes"),
  });
}

/** The noun for the counts of each step. */
const SUBJECTS: Readonly<Record<Step, string>> = { download: "files", process: "documents", embed: "index" };

/** Returns `docs: files 3 added; index 3 added`. For a crawl, documents are mentioned only if the process step had something to do. */
function sumUpSources(data: unknown, steps: readonly Step[]): string {
  const { sources = [], report_id = "" } = (data ?? {}) as Partial<CrawlResult>;
  const lines = sources.map((source) => {
    const shownSteps = steps.filter(
      (step) => step !== "process" || steps.length === 1 || Object.values(source.process).some((count) => count > 0),
    );
    if (source.error && !source.complete && steps.includes("download")) {
      return `${source.source_id}: not finished: ${source.error}\n`;
    }
    const parts = shownSteps.map((step) => `${SUBJECTS[step]} ${sumUp(source[step])}`);
    if (source.hidden_rows) parts.push(`${plural(source.hidden_rows, "row")} not shown to the app`);
    if (source.left_out) parts.push(sayLeftOut(source.left_out));
    return `${source.source_id}: ${parts.join("; ")}\n`;
  });
  return lines.join("") + (report_id ? `Report ${report_id}\n` : "");
}

function sumUpLeft(data: unknown): string {
  const { sources = [] } = (data ?? {}) as Partial<CrawlResult>;
  let left = 0;
  for (const { kept_to_plan: kept } of sources) {
    left += (kept?.not_as_planned.length ?? 0) + (kept?.not_as_planned_more ?? 0);
  }
  return left === 0 ? "" : `${plural(left, "change")} not as planned, and left alone: the log names them.\n`;
}
