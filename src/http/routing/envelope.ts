import type { Answer } from "./endpoint.ts";
import type { JsonSchema } from "./values.ts";

/** How a response and a failure look as JSON. */
export interface Envelope {
  /** The name in the OpenAPI document. */
  readonly name: string;
  readonly answer: (answer: Answer<unknown>) => unknown;
  readonly failure: (message: string) => unknown;
  readonly answerSchema: JsonSchema;
  readonly failureSchema: JsonSchema;
}

const RESULT: JsonSchema = {
  type: "object",
  required: ["ok", "error", "data"],
  properties: {
    ok: { type: "boolean" },
    error: { type: "string", description: "What went wrong; empty when ok." },
    data: { description: "An object or a list; after a failure whatever could be had of it." },
  },
};

export const resultEnvelope: Envelope = {
  name: "Result",
  answer: ({ ok, error, data, page }) => ({ ok, error, data, ...(page && { page }) }),
  failure: (message) => ({ ok: false, error: message, data: {} }),
  answerSchema: {
    ...RESULT,
    properties: {
      ...RESULT.properties,
      page: {
        type: "object",
        description: "Of a list of which a part was asked for.",
        properties: {
          offset: { type: "integer" },
          limit: { type: "integer" },
          total: { type: "integer" },
          more: { type: "boolean" },
        },
      },
    },
  },
  failureSchema: RESULT,
};

/** The error format of the older endpoints. */
export const plainFailure: Pick<Envelope, "failure" | "failureSchema"> = {
  failure: (message) => ({ error: message }),
  failureSchema: { type: "object", required: ["error"], properties: { error: { type: "string" } } },
};

/** No envelope: the data itself, for clients of the functions. */
export const bareEnvelope: Envelope = {
  name: "Function",
  answer: ({ data }) => data,
  ...plainFailure,
  answerSchema: { type: "object" },
};
