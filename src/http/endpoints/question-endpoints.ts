import type { App } from "../../app/app.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { encodeQuestions, encodeRun } from "../../domains/question-store.ts";
import { MOST_MADE } from "../../engine/edit-questions.ts";
import { type AskedQuestion, FEWEST_QUESTIONS } from "../../engine/questions.ts";
import { plural } from "../../lib/text.ts";
import { type QuestionsShown, questionsPage } from "../pages/question-pages.ts";
import { type Endpoint, type EndpointSpec, endpoint, ok } from "../routing/endpoint.ts";
import { optional, type Parameters, required, withDefault } from "../routing/parameters.ts";
import { domainId, sourceId, text, wholeNumber, words } from "../routing/values.ts";

const PATH = "/v2/domains/questions";
const domain_id = required(domainId, "The domain.");

/** The test questions of a domain, and the results of asking them before a crawl is committed. */
export function questionEndpoints(app: App): Endpoint[] {
  return [list(app), ask(app), add(app), remove(app), limits(app), make(app)];
}

function list(app: App): Endpoint {
  return endpoint({
    ...shown,
    path: PATH,
    methods: ["GET"],
    description: `Returns the questions of a domain with the documents that answer them, the limits, and what came of asking them. With ${FEWEST_QUESTIONS} or more, every crawl of the embedded index asks them before anything new is visible.`,
    changes: null,
    query: { domain_id },
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&format=html"],
    run: async ({ domain_id }) => ok(await show(app, domain_id)),
  });
}

function ask(app: App): Endpoint {
  return endpoint({
    ...shown,
    path: `${PATH}/ask`,
    methods: ["GET"],
    description:
      "Asks all questions of a domain as readers would now: which place their document has among the first results.",
    changes: null,
    query: { domain_id },
    examples: ["?domain_id=DEMO"],
    run: async ({ domain_id }, { signal }) => {
      const asked = await app.questions.ask(domain_id, signal);
      return ok({ ...(await show(app, domain_id)), answers: asked.map(toJson) });
    },
  });
}

function add(app: App): Endpoint {
  return endpoint({
    ...shown,
    path: `${PATH}/add`,
    methods: ["POST", "GET"],
    description: "Adds a question to a domain, or writes the one with the same words anew.",
    changes: "domains/<domain_id>/questions.json",
    query: {
      domain_id,
      question: required(words, "As readers ask it, up to 500 characters."),
      document: required(words, "The document that answers it: its path below its source, its name, address or id."),
      source_id: optional(sourceId, "Its source; needed only where several have such a document."),
      words: withDefault(text, "", "What the answer must have; several separated by semicolons."),
    },
    examples: [
      "?domain_id=DEMO&question=How%20many%20days%20of%20vacation%20do%20I%20have%3F&document=HR/vacation.md&words=30%20days",
    ],
    async run({ domain_id, question, document, source_id, words }) {
      await app.questions.add(domain_id, { question, document, sourceId: source_id ?? "", words: words.split(";") });
      return ok(await show(app, domain_id));
    },
  });
}

function remove(app: App): Endpoint {
  return endpoint({
    ...shown,
    path: `${PATH}/remove`,
    methods: ["POST", "GET"],
    description: "Takes a question out of a domain.",
    changes: "domains/<domain_id>/questions.json",
    destroys: () => true,
    query: { domain_id, question: required(words, "The question, in its own words.") },
    examples: ["?domain_id=DEMO&question=How%20many%20days%20of%20vacation%20do%20I%20have%3F"],
    async run({ domain_id, question }) {
      await app.questions.remove(domain_id, question);
      return ok(await show(app, domain_id));
    },
  });
}

function limits(app: App): Endpoint {
  return endpoint({
    ...shown,
    path: `${PATH}/limits`,
    methods: ["POST", "GET"],
    description:
      "Says when a crawl answers too badly: the share of answered questions falls by more than max_drop percentage points, and at least min_lost fewer are answered.",
    changes: "domains/<domain_id>/questions.json",
    // These limits decide whether a crawl is held, so following a link must not loosen them.
    destroys: () => true,
    query: {
      domain_id,
      max_drop: optional(wholeNumber({ from: 0, to: 100 }), "Percentage points."),
      min_lost: optional(wholeNumber({ from: 1, to: 1000 }), "Questions."),
    },
    examples: ["?domain_id=DEMO&max_drop=5&min_lost=1"],
    async run({ domain_id, max_drop: maxDrop, min_lost: minLost }) {
      const given = { ...(maxDrop !== undefined && { maxDrop }), ...(minLost !== undefined && { minLost }) };
      await app.questions.setLimits(domain_id, given);
      return ok(await show(app, domain_id));
    },
  });
}

function make(app: App): Endpoint {
  return endpoint({
    ...shown,
    path: `${PATH}/make`,
    methods: ["POST", "GET"],
    description:
      "Adds questions made from sentences of documents that have none yet, each of which its document answers now. There may be fewer than wanted.",
    changes: "domains/<domain_id>/questions.json",
    query: { domain_id, count: withDefault(wholeNumber({ from: 1, to: MOST_MADE }), 50, "How many.") },
    examples: ["?domain_id=DEMO&count=50"],
    async run({ domain_id, count }, { signal }) {
      const made = await app.questions.make(domain_id, count, signal);
      return ok({ ...(await show(app, domain_id)), note: `${plural(made.length, "question")} made.` });
    },
  });
}

const shown: Pick<
  EndpointSpec<{ readonly domain_id: typeof domain_id }, Parameters, QuestionsShown>,
  "formats" | "html"
> = {
  formats: ["json", "html"],
  html: ({ data }, { domain_id }, frame) => questionsPage(data, domain_id, frame),
};

async function show(app: App, id: DomainId): Promise<QuestionsShown> {
  const { runs, held, ...set } = await app.questions.view(id);
  const { questions, max_drop, min_lost } = encodeQuestions(set);
  return {
    domain_id: id,
    max_drop,
    min_lost,
    questions,
    held: held ? encodeRun(held) : null,
    runs: runs.map(encodeRun),
  };
}

function toJson({ question, place, first }: AskedQuestion): NonNullable<QuestionsShown["answers"]>[number] {
  return { question: question.question, place: place ?? null, asked: place !== undefined, first };
}
