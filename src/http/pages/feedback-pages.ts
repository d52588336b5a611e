import { html } from "hono/html";
import { plural } from "../../lib/text.ts";
import type { FeedbackJson } from "../endpoints/feedback-endpoints.ts";
import { shownName, shownTime } from "./display.ts";
import { failuresAddress } from "./domain-health.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";

const PATH = "/v2/domains/feedback";

export function feedbackAddress(domainId: string): string {
  return `${PATH}?domain_id=${domainId}&format=html`;
}

export interface VotedAnswer {
  readonly domainId: string;
  readonly question: string;
  readonly answer: string;
  readonly fileIds: readonly string[];
}

/** Drawn, because not every machine has letters for it. */
const THUMB = html`<svg class="thumb" viewBox="0 0 24 24" aria-hidden="true"><path d="M14 9V5a3 3 0 0 0-3-3l-4 9v11h11a2 2 0 0 0 2-2l1-9a2 2 0 0 0-2-2zM7 22H4a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2h3"/></svg>`;

/** Two buttons below an answer, which work without scripts, too. */
export function voteForm({ domainId, question, answer, fileIds }: VotedAnswer): Html {
  return html`<form class="vote" action="/v2/feedback?format=html" method="post" data-vote>
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="question" value="${question}"><input type="hidden" name="answer" value="${answer}"><input type="hidden" name="file_ids" value="${fileIds.join(",")}">
<span class="quiet" data-part="asked">Was this right?</span> <button class="small" name="vote" value="up">${THUMB} Yes<span class="visually-hidden">, the answer is right</span></button> <button class="small" name="vote" value="down">${THUMB} No<span class="visually-hidden">, the answer is wrong or missing</span></button>
<span role="status" data-part="said"></span></form>`;
}

const THANKS = {
  up: "Thank you. Your vote is noted: the answer is right.",
  down: "Thank you. Your vote is noted; those who look after this domain see the question.",
  none: "Your vote is taken back.",
} as const;

/** The page after a vote, for browsers without scripts. */
export function thanksPage(
  {
    domain_id,
    question,
    vote,
  }: { readonly domain_id: string; readonly question: string; readonly vote: keyof typeof THANKS },
  frame: Frame,
): Html {
  const back = `/v2/search?${new URLSearchParams({ format: "ui", domain_id, query: question })}`;
  return layout({
    frame,
    title: "Thank you · lockstep",
    body: html`<section class="panel stack"><h1>Thank you</h1><p class="notice good" role="status">${THANKS[vote]}</p><p><a class="button" href="${back}">Back to “${question}”</a></p></section>`,
  });
}

/** Renders the questions without a good answer, with advice for each. */
export function feedbackPage({ domain_id, up, down, questions }: FeedbackJson, frame: Frame): Html {
  const mayEdit = mayChange(frame, "operate");
  return layout({
    frame,
    title: `Asked in vain in ${domain_id} · lockstep`,
    body: html`<header class="page-head"><h1>Asked in vain</h1>
<div class="actions"><a class="button" href="${PATH}?domain_id=${domain_id}&amp;format=json">As JSON</a></div>
<p class="quiet">in <a href="/v2/domains/get?domain_id=${domain_id}&amp;format=html"><code>${domain_id}</code></a></p>
<p class="lede">Questions that found nothing, and those whose answer was voted down, of the last 90 days. Who asked is not kept. Votes on answers: ${up} up, ${down} down.</p></header>
${questions.length === 0 ? html`<div class="empty"><strong>Nothing was asked in vain.</strong><p>Questions appear here when a search finds nothing that answers them, or when somebody says that an answer is wrong.</p></div>` : ""}
${questions.map((one) => questionSection(one, domain_id, mayEdit))}`,
  });
}

function questionSection(one: FeedbackJson["questions"][number], domainId: string, mayEdit: boolean): Html {
  const { question, people, times, last_utc, found_nothing, down, answers_voted_down, advice, candidates } = one;
  const why = [
    found_nothing ? "nothing was found" : "",
    down > 0 ? plural(down, "vote against its answer", "votes against its answers") : "",
  ];
  const search = `/v2/search?${new URLSearchParams({ format: "ui", domain_id: domainId, query: question })}`;
  return html`<section class="panel stack" aria-label="${question}"><h2><a href="${search}"><bdi>${shownName(question)}</bdi></a></h2>
<p class="quiet">${plural(people, "person", "people")}, ${plural(times, "time")}, last ${shownTime(last_utc)}: ${why.filter(Boolean).join(", ")}</p>
${answers_voted_down.map((answer) => html`<blockquote><bdi>${shownName(answer)}</bdi></blockquote>`)}
<p><strong>What to do:</strong> ${advice}</p>
${candidates.length > 0 ? html`<ul>${candidates.map(({ path, reason, source_id }) => html`<li><a href="${failuresAddress(domainId)}"><bdi>${shownName(path)}</bdi></a> in <code>${source_id}</code>: <bdi>${shownName(reason)}</bdi></li>`)}</ul>` : ""}
${mayEdit ? html`<div class="actions"><form action="${PATH}/dismiss?${new URLSearchParams({ domain_id: domainId, question, format: "html" })}" method="post"><button class="small">Done<span class="visually-hidden">: ${question}</span></button></form></div>` : ""}</section>`;
}
