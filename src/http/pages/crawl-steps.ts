import { html } from "hono/html";
import type { JobRecord } from "../../contracts/job.ts";
import { STEPS, type Step } from "../../engine/crawl-request.ts";
import type { Html } from "./layout.ts";

/** Patterns of the log lines that show which step of a crawl runs. The page passes them to crawl-steps.js. */
const STEP_LINES: Readonly<Record<Step, string>> = {
  download: String.raw`^Source '[^']*': (?!removing )|^Listed |\] Downloaded '`,
  process: String.raw`^(To be processed|Texts to be kept): |\] (Processed|Kept) '`,
  embed: String.raw`^Index: |^Learning vectors |\] (Indexing '|Embedding passages )`,
};

export const STEP_LINE = new RegExp(Object.values(STEP_LINES).join("|"));

const TITLES: Readonly<Record<Step, string>> = { download: "Download", process: "Process", embed: "Embed" };

/** Whether the job is a crawl, whose steps have a bar each. Other jobs have one bar. */
export function hasSteps(job: JobRecord | undefined): boolean {
  return job?.router === "crawler" && job.action === "crawl";
}

interface Shown {
  readonly state: "done" | "running" | "stopped" | "waiting";
  readonly words: string;
  readonly share: number;
}

/** Renders the three steps of a crawl as one bar. `line`: the last log line that matches STEP_LINE. */
export function crawlSteps(job: JobRecord | undefined, line: string): Html {
  const current = Math.max(
    0,
    STEPS.findIndex((step) => new RegExp(STEP_LINES[step]).test(line)),
  );
  return html`<ol class="crawl-steps" data-part="steps" aria-label="Steps" ${hasSteps(job) ? "" : "hidden"}>${STEPS.map(
    (step, at) => {
      const { state, words, share } = shownStep(at - current, job, line);
      return html`<li data-lines="${STEP_LINES[step]}" data-state="${state}"><span>${TITLES[step]}</span> <span data-part="words">${words}</span><progress aria-label="${TITLES[step]}" max="1" value="${share}"></progress></li>`;
    },
  )}</ol>`;
}

function shownStep(distance: number, job: JobRecord | undefined, line: string): Shown {
  if (distance < 0 || job?.state === "completed") return { state: "done", words: "done", share: 1 };
  if (distance > 0) return { state: "waiting", words: "waiting", share: 0 };
  const { at, of } = progressIn(line) ?? { at: 0, of: 0 };
  const share = of > 0 ? at / of : 0;
  const count = of > 0 ? `${at} of ${of}` : "";
  if (job?.state === "cancelled") return { state: "stopped", words: `stopped ${count && `at ${count}`}`.trim(), share };
  return { state: "running", words: count || "running", share };
}

/** Parses a log line that begins with `[ 3 / 40 ]`. */
export function progressIn(log: string): { readonly at: number; readonly of: number } | undefined {
  const found = /^\[\s*(\d+)\s*\/\s*(\d+)\s*\]/.exec(log);
  return found ? { at: Number(found[1]), of: Number(found[2]) } : undefined;
}
