import { html } from "hono/html";
import { type Frame, type Html, layout } from "./layout.ts";

interface ShownFinding {
  readonly source_id: string;
  readonly subject: string;
  readonly outcome: "ok" | "problem" | "late" | "not checked";
  readonly detail: string;
  readonly remedy: string;
}

/** Renders the result of "Test connection" for browsers without scripts. */
export function checkPage(domainId: string, findings: readonly ShownFinding[], frame: Frame): Html {
  return layout({
    frame,
    title: `Connection of ${domainId} · lockstep`,
    body: html`<section class="panel answer">
<h1>Connection of <code>${domainId}</code></h1>
${findingList(findings)}
<p><a href="/v2/domains?format=ui">All domains</a></p>
</section>`,
  });
}

const MARKS = { ok: ["good", "✓"], problem: ["bad", "✗"], late: ["warn", "!"], "not checked": ["idle", "–"] } as const;

function findingList(findings: readonly ShownFinding[]): Html {
  const problems = findings.filter(({ outcome }) => outcome === "problem").length;
  const verdict = problems === 0 ? "Everything a crawl needs is there." : sayProblems(problems);
  return html`<div data-findings>
<p class="notice ${problems === 0 ? "good" : "bad"}" role="status">${verdict}</p>
<ul class="findings">${findings.map(findingRow)}</ul>
</div>`;
}

function sayProblems(count: number): string {
  return count === 1 ? "1 problem keeps a crawl from working." : `${count} problems keep a crawl from working.`;
}

function findingRow({ source_id, subject, outcome, detail, remedy }: ShownFinding): Html {
  const [tone, mark] = MARKS[outcome];
  return html`<li class="finding ${tone}"><span class="mark" role="img" aria-label="${outcome}">${mark}</span>
<div><p><strong><bdi>${subject}</bdi></strong>${source_id ? html` <code>${source_id}</code>` : ""}</p>
<p class="detail"><bdi>${detail}</bdi></p>${remedy ? html`<p class="remedy"><bdi>${remedy}</bdi></p>` : ""}</div></li>`;
}
