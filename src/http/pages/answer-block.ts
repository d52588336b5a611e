import { html } from "hono/html";
import type { AnsweredQuery } from "../../app/answers.ts";
import { keyOfHit, openableUrl, readingAddress } from "../../app/openable-url.ts";
import { type AnswerSentence, NOTHING_ANSWERS } from "../../contracts/answer.ts";
import type { QuerySource } from "../../engine/query.ts";
import type { ShownAnswer } from "../endpoints/search-endpoints.ts";
import { shownName } from "./display.ts";
import { voteForm } from "./feedback-pages.ts";
import { type Frame, type Html, layout } from "./layout.ts";

interface AnswerBlock {
  readonly found: Pick<AnsweredQuery, "query" | "considered" | "sentences">;
  /** The language model that would answer, or did; "" for none. */
  readonly writer: string;
  /** It wrote the sentences; else they are taken from the documents. */
  readonly isWritten: boolean;
  /** Why the model did not answer. */
  readonly problem?: string;
  /** Where the model answers: without `format`. */
  readonly address: string;
}

/**
 * The answer above the results: sentences, each with its source, and who said them. The page's script lets the model write it where there
 * is one; without scripts a link does.
 */
export function answerBlock({ found, writer, isWritten, problem = "", address }: AnswerBlock): Html {
  const { query, sentences, considered } = found;
  const asks = writer !== "" && !isWritten;
  const stream = asks ? html` data-stream="${address}&amp;format=stream" data-writer="${writer}"` : "";
  return html`<section class="panel stack found-answer" aria-labelledby="answer-title" data-answer data-question="${query}"${stream}>
<h2 id="answer-title">Answer</h2>
<div data-part="sentences" aria-live="polite">${
    sentences.length === 0
      ? html`<p class="nothing">${NOTHING_ANSWERS}</p>`
      : html`<ul class="sentences">${sentences.map((one) => sentenceItem(one, considered))}</ul>`
  }</div>
${problem ? html`<p class="notice bad" role="alert">${problem}</p>` : ""}
<p class="quiet" data-part="said">${saidBy({ isWritten, writer, count: sentences.length })}</p>
${votedForm(found)}
${asks ? html`<p data-part="ask"><a class="button" href="${address}&amp;format=html">Let ${writer} answer</a></p>` : ""}
</section>`;
}

/** Renders the buttons to vote. Answers voted down are listed for the operators of the domain. */
function votedForm({ query, sentences, considered }: AnswerBlock["found"]): Html | "" {
  const cited = sentences.flatMap(({ from }) => from.flatMap((place) => considered[place] ?? []));
  const domainId = [...cited, ...considered].find((source) => source.domainId)?.domainId;
  if (!domainId) return "";
  const answer = sentences.length === 0 ? NOTHING_ANSWERS : sentences.map(({ text }) => text).join(" ");
  return voteForm({ domainId, question: query, answer, fileIds: [...new Set(cited.map(({ fileId }) => fileId))] });
}

function saidBy({ isWritten, writer, count }: { isWritten: boolean; writer: string; count: number }): string {
  if (isWritten) return `Written by ${writer} from the passages below; check it at its sources`;
  return count === 0 ? "Looked for in the documents, no language model" : "Taken from the documents, no language model";
}

/** The answer alone, for browsers without scripts. */
export function answerPage(found: ShownAnswer, frame: Frame): Html {
  const back = `/v2/search?${new URLSearchParams([...frame.url.searchParams].filter(([name]) => name !== "format"))}&format=ui`;
  return layout({
    frame,
    title: `${found.query} · lockstep`,
    body: html`<header class="page-head"><h1>${found.query}</h1></header>
${answerBlock({ found, writer: found.writer, isWritten: found.isWritten, address: "" })}
<p><a href="${back}">All passages that were found</a></p>`,
  });
}

/** A sentence and where it is from; one without a source says so. */
function sentenceItem({ text, from, page }: AnswerSentence, considered: readonly QuerySource[]): Html {
  const sources = from.flatMap((place) => considered[place] ?? []);
  const isSupported = sources.length > 0;
  return html`<li class="sentence${isSupported ? "" : " unsupported"}"><span><bdi>${text}</bdi></span> ${
    isSupported
      ? sources.map(
          (source) =>
            html`<cite><a href="${passageAddress(source, "", page)}"><bdi>${sourceName(source, page)}</bdi></a></cite> `,
        )
      : html`<span class="pill warn">No source</span>`
  }</li>`;
}

/** What a source is called beside a sentence, which may stand on another page than its passage begins. */
export function sourceName({ title, details }: QuerySource, page = details?.page): string {
  return page ? `${shownName(title)}, page ${page}` : shownName(title);
}

/** Returns our own page at the passage, which knows where it is; for a store without a domain, the file. */
export function passageAddress(source: QuerySource, origin: string, page?: number): string {
  const { domainId } = source;
  return domainId ? origin + readingAddress({ ...keyOfHit(domainId, source), page }) : openableUrl(source, origin);
}
