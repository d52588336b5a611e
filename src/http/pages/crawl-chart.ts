import { html } from "hono/html";
import type { JobRecord } from "../../contracts/job.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import { summarizeCrawl } from "./crawl-summary.ts";
import { shownTime } from "./display.ts";
import { jobAddress } from "./job-fragments.ts";
import type { Html } from "./layout.ts";

export const CHARTED_CRAWLS = 30;
/** Fewer show no course of things. */
const FEWEST_CRAWLS = 3;
const SLOT = 10;
const UP = 36;
const DOWN = 14;
const WIDTH = CHARTED_CRAWLS * SLOT;

interface Point {
  readonly jobId: string;
  readonly endedAt: string;
  readonly items: number;
  readonly changes: number;
  readonly failed: number;
}

/** Draws one bar for each crawl: changes above the line, failures below it. `crawls` come newest first. Returns "" for fewer than three. */
export function crawlChart(name: string, crawls: readonly JobRecord[], kinds: SourceKinds): Html | "" {
  const points = crawls
    .slice(0, CHARTED_CRAWLS)
    .flatMap((job) => toPoint(job, kinds))
    .reverse();
  if (points.length < FEWEST_CRAWLS) return "";
  const sentence = sayRates(points);
  return html`<figure class="chart">
<svg viewBox="0 0 ${WIDTH} ${UP + DOWN + 2}" role="img" aria-label="${name}: ${sentence}">
<line x1="0" x2="${WIDTH}" y1="${UP + 1}" y2="${UP + 1}"/>
${bars(points)}
</svg>
<figcaption>${sentence}</figcaption>
<details id="numbers-${points.at(-1)?.jobId ?? ""}"><summary>Numbers</summary>${numbers(name, points)}</details>
</figure>`;
}

function toPoint(job: JobRecord, kinds: SourceKinds): Point[] {
  const summary = summarizeCrawl(job, kinds);
  if (!summary) return [];
  const { items, added, changed, moved, removed, failed } = summary;
  return [{ jobId: job.jobId, endedAt: job.endedAt, items, changes: added + changed + moved + removed, failed }];
}

/** Uses a logarithmic scale: the first crawl adds everything and would otherwise flatten all later ones. */
function bars(points: readonly Point[]): Html[] {
  const most = Math.log1p(Math.max(1, ...points.flatMap(({ changes, failed }) => [changes, failed])));
  const heightOf = (count: number, room: number): number =>
    count === 0 ? 0 : Math.max(2, Math.round((Math.log1p(count) / most) * room));
  const first = CHARTED_CRAWLS - points.length;
  return points.map(({ changes, failed, endedAt }, at) => {
    const x = (first + at) * SLOT + 2;
    const up = Math.max(1, heightOf(changes, UP));
    const words = `${endedAt.slice(0, 16).replace("T", " ")} UTC: ${changes} changed, ${failed} failed`;
    return html`<g><title>${words}</title><rect class="slot" x="${x - 2}" y="0" width="${SLOT}" height="${UP + DOWN + 2}"/><rect class="${changes === 0 ? "still" : "changes"}" x="${x}" y="${UP - up}" width="${SLOT - 4}" height="${up}"/>${failed > 0 ? html`<rect class="failures" x="${x}" y="${UP + 2}" width="${SLOT - 4}" height="${heightOf(failed, DOWN)}"/>` : ""}</g>`;
  });
}

function sayRates(points: readonly Point[]): string {
  const sum = (of: (point: Point) => number): number => points.reduce((total, point) => total + of(point), 0);
  const items = sum((point) => point.items);
  const changed = percent(
    sum((point) => point.changes),
    items,
  );
  const failed = percent(
    sum((point) => point.failed),
    items,
  );
  return `Over the last ${points.length} crawls ${changed} of the items changed, ${failed} failed.`;
}

function percent(part: number, whole: number): string {
  if (part === 0 || whole === 0) return "0 %";
  const share = Math.min(100, (100 * part) / whole);
  return share < 0.1 ? "under 0.1 %" : `${share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}

function numbers(name: string, points: readonly Point[]): Html {
  return html`<div class="scroll-x as-cards" tabindex="0" role="group" aria-label="Crawls of ${name} in numbers"><table class="rows">
<thead><tr><th scope="col">Crawl</th><th scope="col" class="end">Items</th><th scope="col" class="end">Changed</th><th scope="col" class="end">Failed</th></tr></thead>
<tbody>${points
    .toReversed()
    .map(
      ({ jobId, endedAt, items, changes, failed }) =>
        html`<tr><th scope="row"><a href="${jobAddress(jobId)}">${shownTime(endedAt)}</a></th><td class="end" data-label="Items"><div>${items}</div></td><td class="end" data-label="Changed"><div>${changes}</div></td><td class="end" data-label="Failed"><div>${failed}</div></td></tr>`,
    )}</tbody></table></div>`;
}
