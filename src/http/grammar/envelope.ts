import type { Result } from "../../contracts/job.ts";

/** How an answer and a failure look as JSON. */
export interface Envelope {
  readonly answer: (result: Result) => unknown;
  readonly failure: (message: string) => unknown;
}

export const resultEnvelope: Envelope = {
  answer: ({ ok, error, data }) => ({ ok, error, data }),
  failure: (message) => ({ ok: false, error: message, data: {} }),
};
