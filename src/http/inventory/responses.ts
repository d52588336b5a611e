import { html } from "hono/html";
import type OpenAI from "openai";
import { BadInputError } from "../../contracts/errors.ts";
import { conversationOf } from "../../inventory/create-inventory.ts";
import type { ModelResponse } from "../../inventory/inventory.ts";
import type { LoggedResponse } from "../../inventory/response-log.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import type { Html } from "../pages/layout.ts";
import { okPart } from "../routing/endpoint.ts";
import { takePart } from "../routing/listing.ts";
import { type Arguments, optional, required } from "../routing/parameters.ts";
import { text, trueOrFalse, wholeNumber, words } from "../routing/values.ts";
import { backendId, decimal, idList, jsonArray, metadata, question } from "./backend-values.ts";
import { detailAddress, resource } from "./resource.ts";
import { oneStep } from "./resource-endpoints.ts";
import { statusPill, timeOf } from "./resource-pages.ts";

const responseFields = {
  input: required(question, "The question: text, or messages as the OpenAI protocol has them."),
  model: optional(words, "The model that answers; the backend says which it has."),
  instructions: optional(text, "What the model is told before the question."),
  vector_store_ids: optional(idList, "Vector stores to search for the answer."),
  tools: optional(jsonArray, "Tools as the OpenAI protocol has them; instead of 'vector_store_ids'."),
  include: optional(jsonArray, "What else to return, as the OpenAI protocol has it."),
  previous_response_id: optional(backendId, "The response that this one goes on from."),
  conversation: optional(backendId, "The stored conversation it belongs to."),
  metadata: optional(metadata, "Up to 16 texts by name."),
  temperature: optional(decimal({ from: 0, to: 2 }), "How freely it answers."),
  max_output_tokens: optional(wholeNumber({ from: 16, to: 999_999_999 }), "The longest answer."),
  store: optional(trueOrFalse, "false: the backend forgets it at once, and it is not listed."),
};

/** The dry run of a new response has no id, and only the fields of the request. */
type ShownResponse = Partial<ModelResponse>;

export const responses = resource({
  path: "responses",
  noun: "response",
  title: "Responses",
  idParameter: "response_id",
  list: {
    description:
      "Lists the model responses that one created through this server, for administrators everybody's, newest first. The OpenAI protocol has no list of responses, so others are not known; the newest 10,000 of each key are remembered.",
    examples: ["?format=json", "?format=html"],
    pageFormat: "html",
    sortable: ["created_at", "id", "model"],
    run: async ({ inventory }, listing, { principal }) =>
      okPart(takePart(await inventory.responses.list(principal), listing)),
  },
  get: {
    description: "Returns one model response: one's own, or anybody's for administrators.",
    examples: ["?response_id=resp_abc123", "?response_id=resp_abc123&format=html"],
    read: ({ inventory }, { id, principal }): Promise<ShownResponse> => inventory.responses.get(id, principal),
  },
  create: {
    description: "Asks a model, optionally over vector stores, and returns the response when it is complete.",
    changes: "Adds a model response to the backend.",
    // The same role as below /openai: asking needs no more than searching.
    role: "read",
    examples: [
      `curl '{origin}/v2/inventory/responses/create' -H 'content-type: application/json' -d '{"input":"How much may a hotel night cost?","vector_store_ids":["vs_abc123"]}'`,
    ],
    object: "response",
    fields: responseFields,
    showsObject: true,
    prepare({ inventory }, body, principal) {
      const fields = responseRequest(body);
      return { fields, apply: () => inventory.responses.create(fields, principal) };
    },
  },
  remove: {
    description: "Deletes a model response, with mode=with_conversation the stored conversation it belongs to first.",
    changes: "Removes the response in the backend, and with mode=with_conversation its conversation, for good.",
    role: "admin",
    runsAs: "request",
    examples: ["?response_id=resp_abc123&mode=with_conversation&dry_run=true"],
    modes: {
      description: "with_conversation also deletes the stored conversation, if it has one.",
      choices: [
        ["default", "Only the response"],
        ["with_conversation", "The stored conversation it belongs to as well"],
      ],
    },
    async prepare({ inventory }, { id, principal }, mode) {
      const response = await inventory.responses.get(id, principal);
      const conversation = mode === "with_conversation" ? (conversationOf(response) ?? "") : "";
      const deleted = { ...response, mode, deleted_conversation_id: conversation };
      return oneStep(`Deleting response '${id}'`, deleted, async () => {
        await inventory.responses.delete(response, mode, principal);
        return deleted;
      });
    },
  },
  page: {
    forReaders: true,
    lede: "Answers of a model that were created through this server. The backend has no list of its own.",
    tableId: "responses",
    empty: "No responses yet.",
    forms: { role: "read", html: askForm },
    name: ({ id = "" }: Omit<LoggedResponse, "owner" | "kind"> | ShownResponse) => id,
    detailTitle: ({ id }) => (id === undefined ? "Dry run" : "Response"),
    columns: [
      {
        sort: "id",
        title: "Response",
        cell: ({ id }) =>
          html`<a class="object-id" href="${detailAddress("responses", { response_id: id })}">${id}</a>`,
      },
      { sort: "model", title: "Model", cell: ({ model }) => html`<bdi>${model}</bdi>` },
      { sort: "created_at", title: "Created", cell: ({ created_at }) => timeOf(created_at) },
    ],
    facts: (response) => [
      ["Status", statusPill(response.status ?? "not sent")],
      ["Model", html`<bdi>${response.model ?? ""}</bdi>`],
      ["Created", timeOf(response.created_at)],
      ["Conversation", response.conversation?.id ?? "–"],
    ],
    content(response) {
      const answer = outputText(response);
      return answer === ""
        ? ""
        : html`<section aria-labelledby="answer"><h2 id="answer">Answer</h2><p class="panel answer-text"><bdi>${answer}</bdi></p></section>`;
    },
  },
});

/** The backend validates input, tools and include: it knows what it supports. */
function responseRequest(body: Arguments<typeof responseFields>): OpenAI.Responses.ResponseCreateParamsNonStreaming {
  const { vector_store_ids: stores, ...rest } = withoutAbsent(body);
  if (stores !== undefined && rest.tools !== undefined) {
    throw new BadInputError("Give either 'vector_store_ids' or 'tools', not both.");
  }
  const tools = stores && [{ type: "file_search", vector_store_ids: stores }];
  return { ...rest, ...(tools && { tools }) } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
}

function outputText({ output = [] }: ShownResponse): string {
  return output
    .flatMap((item) => (item.type === "message" ? item.content : []))
    .map((part) => (part.type === "output_text" ? part.text : ""))
    .join("\n");
}

function askForm(): Html {
  return html`<details class="panel inventory-form"><summary>Ask a question</summary>
<form class="stack" action="/v2/inventory/responses/create?format=html" method="post">
<div class="field"><label for="ask-input"><span>Question</span></label><textarea id="ask-input" name="input" rows="2" required></textarea></div>
<div class="fields">
<div class="field"><label for="ask-stores"><span>Vector stores to search</span></label><input id="ask-stores" name="vector_store_ids" autocomplete="off" spellcheck="false" placeholder="vs_…, vs_…"></div>
<div class="field"><label for="ask-model"><span>Model</span></label><input id="ask-model" name="model" autocomplete="off" aria-describedby="ask-model-hint"><small id="ask-model-hint">Empty: the one of the backend, if it has one</small></div>
</div>
<div class="form-end"><button class="primary">Ask</button></div>
</form></details>`;
}
