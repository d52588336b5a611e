import type { AnsweredQuery } from "../../app/answers.ts";
import type { App } from "../../app/app.ts";
import { openableUrl } from "../../app/openable-url.ts";
import { type AnswerSentence, NOTHING_ANSWERS } from "../../contracts/answer.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { AttributeFilter, SearchScope } from "../../contracts/search-index.ts";
import type { QueryAnswer, QuerySource } from "../../engine/query.ts";
import { parseAttributeFilter } from "../../lib/attribute-filter.ts";
import { sayFreshness } from "../../lib/freshness.ts";
import { encodeSseEvent } from "../../lib/sse.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { answerPage, passageAddress, sourceName } from "../pages/answer-block.ts";
import { gatherChoices, gatherPages, queryPage, searchPage } from "../pages/search-pages.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { resultEnvelope } from "../routing/envelope.ts";
import { toFailure } from "../routing/failure.ts";
import { type Arguments, optional, required, withDefault } from "../routing/parameters.ts";
import {
  domainId,
  instant,
  json,
  oneOf,
  sourceId,
  text,
  trueOrFalse,
  type Value,
  vectorStoreId,
  wholeNumber,
  words,
} from "../routing/values.ts";
import { type ProofJson, toProofJson } from "./certificate-codec.ts";

/** Values are separated by commas, so that one parameter holds all of them. */
const list: Value<readonly string[]> = {
  accepts: "words separated by commas",
  schema: { type: "string" },
  read(raw) {
    if (typeof raw !== "string") return undefined;
    const parts = raw.split(",").map((part) => part.trim().toLowerCase());
    return parts.every((part) => part !== "") ? parts : undefined;
  },
};

const narrowing = {
  domain_id: optional(domainId, "Search only this domain."),
  vector_store_id: optional(
    vectorStoreId,
    "Search this store; without either, all domains, or the default store where one is configured.",
  ),
  source_id: optional(sourceId, "Only documents of this source."),
  path: optional(words, "Only documents whose path below the source's root begins so."),
  file_type: optional(list, "Only these extensions: pdf,docx."),
  modified_from: optional(instant, "Only documents modified at this time or later."),
  modified_before: optional(instant, "Only documents modified before this time."),
  language: optional(list, "Only documents in these languages: de,fr."),
  filters: optional(json, 'Attribute filters as the OpenAI protocol has them: {"type":"eq","key":"…","value":"…"}.'),
  generation: optional(wholeNumber({ from: 0, to: 999_999_999 }), "As of this generation of the domain."),
  using: withDefault(oneOf(["both", "text", "vectors"]), "both", "What to go by."),
};

const question = {
  query: required(text, "The question."),
  ...narrowing,
  model: withDefault(
    trueOrFalse,
    true,
    "false: sentences of the documents, also where a language model is configured.",
  ),
};

const query = {
  query: withDefault(
    text,
    "",
    "What to search for; words in quotes must occur, unless they occur nowhere. Only the page does without.",
  ),
  ...narrowing,
  results: withDefault(wholeNumber({ from: 1, to: 50 }), 10, "At most this many results."),
  certificate: withDefault(
    trueOrFalse,
    false,
    "true also names the latest certificate of the domain: whether index and source said the same, and when.",
  ),
};

export function searchEndpoints(app: App): Endpoint[] {
  return [
    endpoint({
      path: "/v2/search",
      forReaders: true,
      methods: ["GET"],
      formats: ["json", "html", "ui"],
      description:
        "Searches all domains, or one: passages with title, section, score and its parts, highlights, an address that opens, when the document changed and when its source was last checked. Notes say what was ignored or could not be done.",
      changes: null,
      query,
      examples: [
        "?query=travel+expenses",
        "?query=travel+expenses&domain_id=DEMO",
        "?query=%22hotel+costs%22&domain_id=DEMO&file_type=pdf,docx&modified_from=2026-01-01",
        "?query=travel&domain_id=DEMO&generation=3",
        "?format=ui",
      ],
      run: (args, call) => (call.format === "ui" ? answerOnPage(app, args, call) : answer(app, args, call)),
      envelope: {
        ...resultEnvelope,
        answer: (result) => resultEnvelope.answer({ ...result, data: toJson(result.data as ProvedAnswer) }),
      },
      html: ({ data }, _args, frame) => queryPage(data, frame),
      ui: async ({ data, error }, args, frame) => {
        const [choices, pages] = await Promise.all([gatherChoices(app, args.domain_id), gatherPages(app, data)]);
        return searchPage({ answer: data, error, args, choices, pages, writer: app.answers.writer() }, frame);
      },
    }),
    endpoint({
      path: "/v2/search/answer",
      forReaders: true,
      methods: ["GET"],
      formats: ["json", "html", "stream"],
      description: `Answers a question from what a search for it finds, sentence by sentence, each with its sources: written by the language model if there is one, else taken from the documents word for word. A sentence without a source is not supported by what was found. "${NOTHING_ANSWERS}" if nothing does. As a stream: start_json, an event sentence for each, end_json.`,
      changes: null,
      query: question,
      examples: [
        "?query=How+many+vacation+days+do+I+get%3F",
        "?query=How+many+vacation+days+do+I+get%3F&domain_id=DEMO&model=false",
      ],
      async run(args, call) {
        const found = await findAnswer(app, args, call);
        if (found.writer === "") return ok(found);
        const sentences = await Array.fromAsync(app.answers.write(found, call.signal));
        return ok({ ...found, sentences, isWritten: true });
      },
      async stream(args, call) {
        return answerEvents(app, await findAnswer(app, args, call), call);
      },
      envelope: {
        ...resultEnvelope,
        answer: (result) => resultEnvelope.answer({ ...result, data: toAnswerJson(result.data as ShownAnswer) }),
      },
      html: ({ data }, _args, frame) => answerPage(data, frame),
    }),
  ];
}

export type SearchArguments = Arguments<typeof query>;

interface ProvedAnswer extends QueryAnswer, Partial<Pick<AnsweredQuery, "considered" | "sentences">> {
  /** null: the domain has none, or the store belongs to no domain. Absent unless asked for. */
  readonly certificate?: ProofJson | null;
}

async function answer(app: App, args: SearchArguments, call: Call): Promise<Answer<ProvedAnswer>> {
  if (args.query.trim() === "") throw new BadInputError("Missing 'query'.");
  const asked = requestOf(args);
  const found = withOpenableUrls(
    await (call.format === "ui" ? app.answers.find(asked, call) : app.query(asked, call)),
    call,
  );
  if (!args.certificate) return ok(found);
  const { domains } = await app.domains.list();
  const domain = domains.find(({ domainId, vectorStoreId }) =>
    args.domain_id === undefined ? vectorStoreId === found.vectorStoreId : domainId === args.domain_id,
  );
  const status = domain && (await app.certificates.status(domain));
  return ok({ ...found, certificate: domain && status ? toProofJson(domain.domainId, status) : null });
}

/** An answer, and who gave it. */
export interface ShownAnswer extends AnsweredQuery {
  /** The language model that writes it, or will; "" for none. */
  readonly writer: string;
  readonly isWritten: boolean;
  readonly origin: string;
}

async function findAnswer(app: App, args: Arguments<typeof question>, call: Call): Promise<ShownAnswer> {
  if (args.query.trim() === "") throw new BadInputError("Missing 'query'.");
  const { model, ...asked } = args;
  const found = await app.answers.find(requestOf({ ...asked, results: 10, certificate: false }), call);
  const origin = call.format === "html" ? "" : call.origin;
  return { ...found, writer: model ? app.answers.writer() : "", isWritten: false, origin };
}

/** An answer that breaks off keeps the sentences it had: the end says why. */
async function* answerEvents(app: App, found: ShownAnswer, { signal }: Call): AsyncGenerator<Uint8Array> {
  const encode = (event: string, data: object): Uint8Array =>
    new TextEncoder().encode(encodeSseEvent({ id: "", event, data: JSON.stringify(data) }));
  let count = 0;
  let error = "";
  yield encode("start_json", { query: found.query, written_by: found.writer });
  try {
    const sentences = found.writer === "" ? found.sentences : app.answers.write(found, signal);
    for await (const sentence of sentences) {
      count += 1;
      yield encode("sentence", toSentenceJson(sentence, found));
    }
  } catch (failure) {
    if (signal.aborted) return;
    error = toFailure(failure).message;
  }
  const answer = count > 0 || error ? "" : NOTHING_ANSWERS;
  yield encode("end_json", { result: { ok: error === "", error, data: { written_by: found.writer, answer } } });
}

function toAnswerJson(found: ShownAnswer): object {
  const { query, sentences, notes = [], writer, isWritten } = found;
  return {
    query,
    answer: sentences.length === 0 ? NOTHING_ANSWERS : sentences.map(({ text }) => text).join(" "),
    written_by: isWritten ? writer : "",
    sentences: sentences.map((one) => toSentenceJson(one, found)),
    notes,
  };
}

function toSentenceJson({ text, from, page }: AnswerSentence, { considered, origin }: ShownAnswer): object {
  const sources = from.flatMap((place) => considered[place] ?? []);
  return {
    text,
    supported: sources.length > 0,
    sources: sources.map((source) => ({
      title: sourceName(source, page),
      url: passageAddress(source, origin, page),
      file_id: source.fileId,
      domain_id: source.domainId,
      ...freshnessJson(source),
    })),
  };
}

const NO_ANSWER = { query: "", vectorStoreId: "" as VectorStoreId, sources: [] };

/** The page shows the error instead of failing, so that the user can correct the query. */
async function answerOnPage(app: App, args: SearchArguments, call: Call): Promise<Answer<ProvedAnswer>> {
  if (args.query.trim() === "") return ok(NO_ANSWER);
  try {
    return await answer(app, args, call);
  } catch (error) {
    const failure = toFailure(error);
    if (failure.status === 500) throw error;
    return { ok: false, error: failure.message, data: { ...NO_ANSWER, query: args.query } };
  }
}

/** Links on a page of ours begin with "/". */
export function withOpenableUrls<A extends QueryAnswer>(
  answer: A,
  { format, origin }: Pick<Call, "format" | "origin">,
): A {
  const base = format === "json" ? origin : "";
  return { ...answer, sources: answer.sources.map((source) => ({ ...source, url: openableUrl(source, base) })) };
}

function requestOf(args: SearchArguments): Parameters<App["query"]>[0] {
  if (args.domain_id !== undefined && args.vector_store_id !== undefined) {
    throw new BadInputError("Give 'domain_id' or 'vector_store_id', not both.");
  }
  const filter: AttributeFilter | undefined =
    args.filters === undefined ? undefined : parseAttributeFilter(args.filters, "filters");
  return {
    text: args.query,
    domainId: args.domain_id,
    vectorStoreId: args.vector_store_id,
    limit: args.results,
    ...(filter ? { filter } : {}),
    scope: scopeOf(args),
    ...(args.generation === undefined ? {} : { generation: args.generation }),
    ...(args.using === "both" ? {} : { using: args.using }),
  };
}

function scopeOf(args: SearchArguments): SearchScope {
  return withoutAbsent({
    sourceId: args.source_id,
    pathPrefix: args.path,
    fileTypes: args.file_type,
    modifiedFrom: args.modified_from,
    modifiedBefore: args.modified_before,
    languages: args.language,
  });
}

function toJson({ query: queryText, vectorStoreId: store, sources, notes = [], certificate }: ProvedAnswer): object {
  const proof = certificate === undefined ? {} : { certificate };
  return { query: queryText, vector_store_id: store, notes, ...proof, results: sources.map(toResultJson) };
}

/** The same fields wherever results are JSON. */
export function freshnessJson(source: QuerySource): { source_checked_utc: string; freshness: string } {
  return { source_checked_utc: source.checkedAt, freshness: sayFreshness({ ...source, changedAt: source.modifiedAt }) };
}

function toResultJson(source: QuerySource): object {
  const { details } = source;
  return {
    file_id: source.fileId,
    domain_id: source.domainId,
    title: source.title,
    name: source.name,
    url: source.url,
    last_modified_utc: source.modifiedAt,
    ...freshnessJson(source),
    section_path: source.sectionPath,
    text: source.text,
    score: source.score,
    attributes: source.attributes,
    ...(details
      ? {
          score_parts: details.parts,
          highlights: details.highlights,
          path: details.path,
          page: details.page,
          language: details.language,
          generation: details.generation,
          generation_id: details.generationId,
          also_in: details.alsoIn.map(({ fileId, name, path }) => ({ file_id: fileId, name, path })),
        }
      : {}),
  };
}
