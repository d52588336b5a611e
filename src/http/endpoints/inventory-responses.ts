import type OpenAI from "openai";
import type { App } from "../../app/app.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { ModelResponse } from "../../inventory/inventory.ts";
import { conversationOf } from "../../inventory/responses.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { responseDetail, responsesPage } from "../pages/inventory-responses-page.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { dryRun } from "../routing/dry-run.ts";
import { type Answer, type Endpoint, endpoint, ok, okPart } from "../routing/endpoint.ts";
import { listing, takePart } from "../routing/listing.ts";
import { type Arguments, optional, required, withDefault } from "../routing/parameters.ts";
import { oneOf, text, trueOrFalse, wholeNumber, words } from "../routing/values.ts";
import { backendId, decimal, idList, jsonArray, metadata, question } from "./inventory-values.ts";

const responseId = required(backendId, "The response.");

const fields = {
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

export function inventoryResponses(app: App): Endpoint[] {
  return [list(app), create(app), get(app), remove(app)];
}

function list({ inventory }: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/responses",
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Lists the model responses that one created through this server, for administrators everybody's, newest first. The OpenAI protocol has no list of responses, so others are not known; the newest 10,000 of each key are remembered.",
    changes: null,
    query: listing(["created_at", "id", "model"]),
    examples: ["?format=json", "?format=html"],
    async run(args, { format, principal }) {
      const limit = args.limit ?? (format === "html" ? PAGE_ROWS : undefined);
      return okPart(takePart(await inventory.responses.list(principal), { ...args, limit }));
    },
    html: responsesPage,
  });
}

function create({ inventory }: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/responses/create",
    methods: ["POST"],
    formats: ["json", "html"],
    description: "Asks a model, optionally over vector stores, and returns the response when it is complete.",
    changes: "Adds a model response to the backend.",
    // As it is below /openai: asking takes no more than searching does.
    role: "read",
    query: { dry_run: dryRun },
    body: fields,
    examples: [
      `curl '{origin}/v2/inventory/responses/create' -H 'content-type: application/json' -d '{"input":"How much may a hotel night cost?","vector_store_ids":["vs_abc123"]}'`,
    ],
    async run({ body, dry_run }, { principal }): Promise<Answer<Partial<ModelResponse>>> {
      const wanted = requestOf(body);
      // What it would be has the fields of a response that the request gives it.
      if (dry_run) return ok({ object: "response", ...wanted, dry_run } as object);
      return ok(await inventory.responses.create(wanted, principal));
    },
    html: ({ data }, _args, frame) => responseDetail(data, frame),
  });
}

function get({ inventory }: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/responses/get",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Returns one model response: one's own, or anybody's for administrators.",
    changes: null,
    query: { response_id: responseId },
    examples: ["?response_id=resp_abc123", "?response_id=resp_abc123&format=html"],
    run: async ({ response_id }, { principal }) => ok(await inventory.responses.get(response_id, principal)),
    html: ({ data }, _args, frame) => responseDetail(data, frame),
  });
}

function remove({ inventory }: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/responses/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html"],
    description: "Deletes a model response, with mode=with_conversation the stored conversation it belongs to first.",
    changes: "Removes the response in the backend, and with mode=with_conversation its conversation, for good.",
    role: "admin",
    query: {
      response_id: responseId,
      mode: withDefault(
        oneOf(["default", "with_conversation"]),
        "default",
        "with_conversation also deletes the stored conversation, if it has one.",
      ),
      dry_run: dryRun,
    },
    examples: ["?response_id=resp_abc123&mode=with_conversation&dry_run=true"],
    async run({ response_id, mode, dry_run }, { principal }) {
      const response = await inventory.responses.get(response_id, principal);
      const conversation = mode === "with_conversation" ? (conversationOf(response) ?? "") : "";
      if (!dry_run) await inventory.responses.delete(response, mode, principal);
      return ok({ ...response, mode, deleted_conversation_id: conversation, ...(dry_run && { dry_run }) });
    },
  });
}

/** The backend checks what is in input, tools and include: it knows what it has. */
function requestOf(body: Arguments<typeof fields>): OpenAI.Responses.ResponseCreateParamsNonStreaming {
  const { vector_store_ids: stores, ...rest } = withoutAbsent(body);
  if (stores !== undefined && rest.tools !== undefined) {
    throw new BadInputError("Give either 'vector_store_ids' or 'tools', not both.");
  }
  const tools = stores && [{ type: "file_search", vector_store_ids: stores }];
  return { ...rest, ...(tools && { tools }) } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
}
