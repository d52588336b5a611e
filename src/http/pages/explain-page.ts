import { html } from "hono/html";
import { fileAddress } from "../../app/openable-url.ts";
import type { ExplainedJson, ExplanationJson } from "../endpoints/explain-endpoints.ts";
import { shownName, webAddress } from "./display.ts";
import { type Frame, type Html, layout } from "./layout.ts";

/** Renders why a document is, or is not, found; for browsers without scripts. */
export function explainPage(explanation: ExplanationJson, frame: Frame): Html {
  const { domain_id, query } = explanation;
  const back = `/v2/search?format=ui&domain_id=${encodeURIComponent(domain_id)}&query=${encodeURIComponent(query)}`;
  return layout({
    frame,
    title: `Why ${explanation.document}? · lockstep`,
    body: html`<header class="page-head"><h1>Why is it found, or not?</h1>
<p class="quiet"><bdi>${explanation.document}</bdi> in answers for “<bdi>${query}</bdi>” in <code>${domain_id}</code></p></header>
<section class="panel">${documentList(explanation)}</section>
<p><a href="${back}">Back to the search</a></p>`,
  });
}

function documentList({ domain_id, documents, more }: ExplanationJson): Html {
  return html`<div data-explained><ul class="explained">${documents.map((one) => explained(one, domain_id))}</ul>
${more > 0 ? html`<p class="quiet">${more} more go by that name; give the path or the address to see one of them.</p>` : ""}</div>`;
}

const MARKS = { ok: ["good", "✓"], problem: ["bad", "✗"], "not reached": ["idle", "–"] } as const;
const STAGES = { source: "At the source", mirror: "In the mirror", index: "In the index", search: "In the search" };

function explained(
  { path, url, source_id, item_id, stages, verdict, ...document }: ExplainedJson,
  domainId: string,
): Html {
  const href = webAddress(url);
  const name = shownName(document.name);
  const history = fileAddress("get", { domainId, sourceId: source_id, itemId: item_id });
  const isWell = stages.every(({ outcome }) => outcome === "ok");
  return html`<li><h2><bdi>${href ? html`<a href="${href}" target="_blank" rel="noopener noreferrer">${name}</a>` : name}</bdi></h2>
${source_id ? html`<p class="quiet"><code>${source_id}</code> <bdi>${shownName(path)}</bdi>${history ? html` · <a href="${history}">What became of it</a>` : ""}</p>` : ""}
<p class="notice ${isWell ? "good" : "warn"}" role="status"><bdi>${verdict}</bdi></p>
<ol class="findings">${stages.map(({ name: stage, outcome, detail }) => {
    const [tone, mark] = MARKS[outcome];
    return html`<li class="finding ${tone}"><span class="mark" role="img" aria-label="${outcome}">${mark}</span><div><p><strong>${STAGES[stage]}</strong></p>${rest(detail, verdict)}</div></li>`;
  })}</ol></li>`;
}

/** Removes the verdict, which is the stage's first sentence and is shown above. */
function rest(detail: string, verdict: string): Html | "" {
  const shown = detail.startsWith(verdict) ? detail.slice(verdict.length).trim() : detail;
  return shown === "" ? "" : html`<p class="detail"><bdi>${shown}</bdi></p>`;
}
