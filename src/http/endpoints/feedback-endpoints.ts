import type { App } from "../../app/app.ts";
import { ownerOf } from "../../contracts/access.ts";
import type { DomainId, FileId } from "../../contracts/ids.ts";
import type { FeedbackView, OpenQuestion } from "../../engine/feedback.ts";
import { feedbackPage, thanksPage } from "../pages/feedback-pages.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { required, withDefault } from "../routing/parameters.ts";
import { domainId, oneOf, text, words } from "../routing/values.ts";

const PATH = "/v2/domains/feedback";
const domain_id = required(domainId, "The domain.");

/** Votes of readers on answers, and the list of questions without a good answer for operators. */
export function feedbackEndpoints(app: App): Endpoint[] {
  return [vote(app), list(app), dismiss(app)];
}

function vote({ feedback }: App): Endpoint {
  return endpoint({
    path: "/v2/feedback",
    forReaders: true,
    methods: ["POST"],
    formats: ["json", "html"],
    description:
      "Says what somebody thinks of an answer. One vote for each answer and person: another one replaces it, none takes it back. Kept for 90 days, without the name of the person; other readers do not see it.",
    changes: "The domain's ledger.",
    role: "read",
    unaudited: ["question", "answer"],
    query: {},
    body: {
      domain_id,
      question: required(words, "What was asked."),
      answer: withDefault(text, "", "The answer, as it was shown."),
      vote: required(oneOf(["up", "down", "none"]), "What it is worth."),
      file_ids: withDefault(text, "", "The files that it cites, separated by commas."),
    },
    examples: [
      `curl '{origin}/v2/feedback' -H 'content-type: application/json' -d '{"domain_id":"DEMO","question":"How many vacation days do I get?","answer":"Everybody has 30 days.","vote":"down"}'`,
    ],
    async run({ body }, { principal }) {
      const { domain_id, question, answer, vote, file_ids } = body;
      const fileIds = file_ids
        .split(",")
        .map((id) => id.trim())
        .filter(Boolean) as FileId[];
      await feedback.vote({ domainId: domain_id, question, answer, vote, fileIds, by: ownerOf(principal) });
      return ok({ domain_id, question, vote });
    },
    html: ({ data }, _args, frame) => thanksPage(data, frame),
  });
}

function list(app: App): Endpoint {
  return endpoint({
    path: PATH,
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Lists what readers asked in vain, or whose answers they voted down, in the last 90 days: how many people, what to do, and failed files that may have the answer.",
    changes: null,
    role: "operate",
    query: { domain_id },
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&format=html"],
    run: async ({ domain_id }) => ok(await show(app, domain_id)),
    html: ({ data }, _args, frame) => feedbackPage(data, frame),
  });
}

function dismiss(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/dismiss`,
    methods: ["POST", "GET"],
    formats: ["json", "html"],
    description:
      "Takes a question off the list, because it is solved or needs no answer. It comes back when it is asked in vain again.",
    changes: "The domain's ledger.",
    unaudited: ["question"],
    query: { domain_id, question: required(words, "The question, in its own words.") },
    examples: ["?domain_id=DEMO&question=Where%20is%20the%20canteen%3F"],
    async run({ domain_id, question }) {
      await app.feedback.dismiss(domain_id, question);
      return ok(await show(app, domain_id));
    },
    html: ({ data }, _args, frame) => feedbackPage(data, frame),
  });
}

export type FeedbackJson = Awaited<ReturnType<typeof show>>;

async function show({ feedback }: App, id: DomainId) {
  return toJson(await feedback.list(id));
}

function toJson({ domainId, up, down, questions }: FeedbackView) {
  return { domain_id: domainId, up, down, questions: questions.map(toQuestionJson) };
}

function toQuestionJson({
  question,
  people,
  times,
  at,
  foundNothing,
  up,
  down,
  answers,
  candidates,
  advice,
}: OpenQuestion) {
  return {
    question,
    people,
    times,
    last_utc: at,
    found_nothing: foundNothing,
    up,
    down,
    answers_voted_down: answers,
    advice,
    candidates: candidates.map(({ sourceId, itemId, path, reason }) => ({
      source_id: sourceId,
      item_id: itemId,
      path,
      reason,
    })),
  };
}
