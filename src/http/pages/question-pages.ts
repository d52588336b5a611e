import { html } from "hono/html";
import type { EncodedQuestions, EncodedRun } from "../../domains/question-store.ts";
import { FEWEST_QUESTIONS, WITHIN } from "../../engine/questions.ts";
import { plural } from "../../lib/text.ts";
import { shownName, shownTime } from "./display.ts";
import { crawlerAddress } from "./domain-health.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";

const PATH = "/v2/domains/questions";

/** As the endpoints answer. */
export interface QuestionsShown extends EncodedQuestions {
  readonly domain_id: string;
  /** The last crawl whose changes are held because answers got worse. */
  readonly held: EncodedRun | null;
  /** Oldest first. */
  readonly runs: readonly EncodedRun[];
  /** In the order of the questions, if they were asked for this. `place`: null if the document is not among the first results. */
  readonly answers?: readonly {
    readonly question: string;
    readonly place: number | null;
    /** false: the domain does not have its document. */
    readonly asked: boolean;
    /** The document of the first result. */
    readonly first: string;
  }[];
  readonly note?: string;
}

export function questionsAddress(domainId: string): string {
  return `${PATH}?domain_id=${domainId}&format=html`;
}

/** Renders the questions of a domain: how well they are answered, each with its expected document, and the forms to change them. */
export function questionsPage(data: QuestionsShown, domainId: string, frame: Frame): Html {
  const { questions, held, runs, answers, note } = data;
  const mayEdit = mayChange(frame, "operate");
  return layout({
    frame,
    title: `Questions of ${domainId} · lockstep`,
    body: html`<header class="page-head"><h1>Questions</h1>
<div class="actions"><a class="button" href="${PATH}/ask?domain_id=${domainId}&amp;format=html">Ask them now</a><a class="button" href="${PATH}?domain_id=${domainId}&amp;format=json">As JSON</a></div>
<p class="quiet">in <a href="/v2/domains/get?domain_id=${domainId}&amp;format=html"><code>${domainId}</code></a></p>
<p class="lede">What readers ask, and the document that answers it. Every crawl asks them before anything new is visible: if clearly fewer documents come among the first ${WITHIN} results, what is new is held, and what left the source goes all the same. That is so with the embedded index; at OpenAI and Azure changes are visible as they are made, and nothing is asked.</p></header>
${note ? html`<p class="notice good">${note}</p>` : ""}
${held ? heldNotice(held, domainId, frame) : ""}
${questions.length < FEWEST_QUESTIONS ? html`<p class="notice ${questions.length > 0 ? "warn" : "idle"}">${questions.length === 0 ? "No questions yet." : `Only ${plural(questions.length, "question")}.`} Crawls ask from ${FEWEST_QUESTIONS} on: with fewer, one question is too large a share.</p>` : ""}
${questionChart("Questions", runs)}
${questions.length > 0 ? questionTable(data, domainId, mayEdit) : ""}
${answers ? html`<p class="quiet">Asked just now.</p>` : ""}
${mayEdit ? forms(data, domainId) : ""}`,
  });
}

function heldNotice({ at_utc, asked, before, after, held, lost }: EncodedRun, domainId: string, frame: Frame): Html {
  const rows = lost.map(
    ({ question, document, before }) =>
      html`<tr><th scope="row"><bdi>${shownName(question)}</bdi></th><td data-label="Document"><div><bdi>${shownName(document)}</bdi></div></td><td class="end" data-label="Place before"><div>${before}</div></td></tr>`,
  );
  return html`<section class="stack" aria-labelledby="held-title"><h2 id="held-title">Held</h2>
<div class="notice warn"><p>The crawl of ${shownTime(at_utc)} would have answered ${after} of ${plural(asked, "question")}, after ${before} before it: ${plural(held, "addition or change is", "additions and changes are")} held. Look at what got lost. If that is right, show it to readers: nothing is embedded again.</p>
${mayChange(frame, "operate") ? html`<p><a class="button small" href="${crawlerAddress(domainId)}&step=embed_data&confirm_worse=true">Show it to readers …</a></p>` : ""}</div>
${rows.length > 0 ? html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Questions that got lost"><table class="rows"><thead><tr><th scope="col">Not answered any more</th><th scope="col">Document</th><th scope="col" class="end">Place before</th></tr></thead><tbody>${rows}</tbody></table></div>` : ""}</section>`;
}

function questionTable({ questions, answers }: QuestionsShown, domainId: string, mayEdit: boolean): Html {
  const rows = questions.map(
    ({ question, document, source_id, words = [] }, at) =>
      html`<tr><th scope="row"><a href="/v2/search?${new URLSearchParams({ format: "ui", domain_id: domainId, q: question })}"><bdi>${shownName(question)}</bdi></a></th>
<td data-label="Document"><div><bdi>${shownName(document)}</bdi>${source_id ? html`<br><code class="quiet">${source_id}</code>` : ""}</div></td>
<td data-label="Words"><div>${words.length > 0 ? html`<bdi>${words.map(shownName).join("; ")}</bdi>` : html`<span class="none">–</span>`}</div></td>
${answers ? html`<td data-label="Now"><div>${placeNow(answers[at])}</div></td>` : ""}
${mayEdit ? html`<td data-label="Actions"><div class="row-actions"><form action="${PATH}/remove?${new URLSearchParams({ domain_id: domainId, question, format: "html" })}" method="post"><button class="small" aria-label="Remove the question ${question}">Remove</button></form></div></td>` : ""}</tr>`,
  );
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Questions"><table class="rows">
<thead><tr><th scope="col">Question</th><th scope="col">Answered by</th><th scope="col">Words of the answer</th>${answers ? html`<th scope="col">Now</th>` : ""}${mayEdit ? html`<th scope="col">Actions</th>` : ""}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

function placeNow(answer: NonNullable<QuestionsShown["answers"]>[number] | undefined): Html {
  if (!answer?.asked) return html`<span class="pill idle">no such document</span>`;
  if (answer.place !== null) return html`<span class="pill good">result ${answer.place}</span>`;
  return html`<span class="pill warn">not among the first ${WITHIN}</span>${answer.first ? html`<br><span class="quiet">first is <bdi>${shownName(answer.first)}</bdi></span>` : ""}`;
}

function forms({ max_drop, min_lost }: QuestionsShown, domainId: string): Html {
  const hidden = html`<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="format" value="html">`;
  return html`<section class="panel stack" aria-labelledby="add-title"><h2 id="add-title">Add a question</h2>
<form class="stack" action="${PATH}/add" method="get">${hidden}<div class="fields">
<label class="field"><span>Question</span><input name="question" required maxlength="500" placeholder="How many days of vacation do I have?"></label>
<label class="field"><span>Document that answers it</span><input name="document" required placeholder="HR/vacation.md"><small>Its path below its source, its name, address or id</small></label>
<label class="field"><span>Words of the answer</span><input name="words" placeholder="30 days"><small>Optional; several separated by semicolons</small></label>
</div><div class="form-end"><button class="primary">Add</button></div></form></section>
<details class="panel"><summary><h2>Make some from the documents</h2></summary>
<form class="stack" action="${PATH}/make" method="get">${hidden}<p class="quiet">Takes a sentence of each of some documents, from everywhere in the domain, as long as its document is found by it now. Write them as your readers ask: remove those that nobody would. Readers are shown none of these as examples, only questions that end with a question mark.</p>
<div class="form-end">${[10, 50].map((count) => html`<button name="count" value="${count}">Make ${count}</button> `)}</div></form></details>
<details class="panel"><summary><h2>When a crawl is held</h2></summary>
<form class="stack" action="${PATH}/limits" method="get">${hidden}<div class="fields">
<label class="field"><span>The share answered falls by more than</span><input name="max_drop" type="number" min="0" max="100" value="${max_drop}"><small>percentage points</small></label>
<label class="field"><span>and at least so many fewer are answered</span><input name="min_lost" type="number" min="1" max="1000" value="${min_lost}"><small>questions</small></label>
</div><div class="form-end"><button>Save</button></div></form></details>`;
}

const CHARTED = 30;
/** Fewer show no course of things. */
const FEWEST_RUNS = 3;
const SLOT = 10;
const HEIGHT = 40;

/** Draws one bar for each time the questions were asked: the share answered after it. "" for fewer than three. */
export function questionChart(name: string, runs: readonly EncodedRun[]): Html | "" {
  const points = runs.filter(({ asked }) => asked > 0).slice(-CHARTED);
  const last = points.at(-1);
  if (points.length < FEWEST_RUNS || !last) return "";
  const held = points.filter(({ verdict }) => verdict === "held").length;
  const sentence = `Asked ${points.length} times: ${last.after} of ${last.asked} answered the last time${held > 0 ? `; ${held} held` : ""}.`;
  const first = CHARTED - points.length;
  const bars = points.map(({ at_utc, asked, before, after, verdict, about }, at) => {
    const x = (first + at) * SLOT + 2;
    const up = Math.max(1, Math.round((after / asked) * HEIGHT));
    const words = `${at_utc.slice(0, 16).replace("T", " ")} UTC: ${after} of ${asked} answered, ${before} before${about === "vectors" ? ", by new vectors" : ""}; ${verdict}`;
    return html`<g><title>${words}</title><rect class="slot" x="${x - 2}" y="0" width="${SLOT}" height="${HEIGHT + 2}"/><rect class="${verdict === "passed" ? "good" : "warn"}" x="${x}" y="${HEIGHT - up}" width="${SLOT - 4}" height="${up}"/></g>`;
  });
  const rows = points
    .toReversed()
    .map(
      ({ at_utc, asked, before, after, retired, verdict, about }) =>
        html`<tr><th scope="row">${shownTime(at_utc)}</th><td>${about === "vectors" ? "new vectors" : "crawl"}</td><td class="end">${asked}</td><td class="end">${before}</td><td class="end">${after}</td><td class="end">${retired}</td><td>${verdict}</td></tr>`,
    );
  return html`<figure class="chart panel"><svg viewBox="0 0 ${CHARTED * SLOT} ${HEIGHT + 4}" role="img" aria-label="${name}: ${sentence}"><line x1="0" x2="${CHARTED * SLOT}" y1="${HEIGHT + 1}" y2="${HEIGHT + 1}"/>${bars}</svg>
<figcaption>${sentence}</figcaption>
<details id="asked-${last.at_utc}"><summary>Numbers</summary><div class="scroll-x" tabindex="0" role="group" aria-label="${name} in numbers"><table class="rows"><thead><tr><th scope="col">When</th><th scope="col">Before</th><th scope="col" class="end">Asked</th><th scope="col" class="end">Answered before</th><th scope="col" class="end">After</th><th scope="col" class="end">Retired</th><th scope="col">Verdict</th></tr></thead><tbody>${rows}</tbody></table></div></details></figure>`;
}
