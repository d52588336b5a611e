import { html } from "hono/html";
import type { JobProgress, JobRecord } from "../../contracts/job.ts";
import { STEPS, type Step } from "../../engine/crawl-request.ts";
import type { Html } from "./layout.ts";

const TITLES: Readonly<Record<Step, string>> = { download: "Download", process: "Process", embed: "Embed" };

/** Whether the job has a bar of three steps: crawls, except those that ended without ever saying where they were. Other jobs have one bar. */
export function hasSteps(job: JobRecord | undefined): boolean {
  if (job?.router !== "crawler" || (job.action !== "crawl" && job.action !== "apply")) return false;
  return job.progress !== undefined || job.endedAt === "";
}

interface Shown {
  readonly state: "done" | "failed" | "running" | "stopped" | "waiting";
  readonly words: string;
  readonly share: number;
}

/** Renders the three steps of a crawl as one bar. Every source goes through all three, and each part of the bar counts all sources. */
export function crawlSteps(job: JobRecord | undefined): Html {
  const { items, source = "", step: current = "" } = job?.progress ?? {};
  return html`<ol class="crawl-steps" data-part="steps" data-now="${source} ${current}" data-at="${items?.at ?? 0}" data-of="${items?.of ?? 0}" aria-label="Steps" ${hasSteps(job) ? "" : "hidden"}>${STEPS.map(
    (step) => {
      const { state, words, share } = shownStep(step, job);
      return html`<li data-state="${state}"><span>${TITLES[step]}</span> <span data-part="words">${words}</span><progress aria-label="${TITLES[step]}" max="1" value="${share}"></progress></li>`;
    },
  )}</ol>`;
}

function shownStep(step: Step, job: JobRecord | undefined): Shown {
  const { progress, state } = job ?? {};
  if (!progress) return { state: "waiting", words: "waiting", share: 0 };
  const isOver = state === "completed";
  const hasFailed = progress.failed.includes(step);
  const { words, share, isNow } = isOver ? { words: "done", share: 1, isNow: false } : placeOf(step, progress);
  if (hasFailed && (isOver || !isNow)) return { state: "failed", words: "failed", share: isOver ? 1 : share };
  if (state === "cancelled" && isNow) return { state: "stopped", words: `stopped at ${words}`, share };
  if (state === "cancelled" && share === 0) return { state: "waiting", words: "not begun", share };
  if (isNow) return { state: hasFailed ? "failed" : "running", words, share };
  return { state: share === 1 ? "done" : "waiting", words, share };
}

/** How far the crawl is with a step, over all sources. */
function placeOf(
  step: Step,
  { step: current, sources: { at, of }, items }: JobProgress,
): Omit<Shown, "state"> & { readonly isNow: boolean } {
  const isNow = step === current;
  const through = at - 1 + (STEPS.indexOf(step) < STEPS.indexOf(current) ? 1 : 0);
  const part = isNow && items && items.of > 0 ? items.at / items.of : 0;
  const share = of === 0 ? 0 : (through + part) / of;
  if (isNow) {
    const count = items ? `${items.at} of ${items.of}` : "";
    const words = of > 1 ? [`source ${at} of ${of}`, count].filter(Boolean).join(", ") : count || "running";
    return { words, share, isNow };
  }
  const words = through === of ? "done" : through === 0 ? "waiting" : `${through} of ${of} sources`;
  return { words, share, isNow };
}
