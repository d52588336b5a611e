// Errors of the backend become errors of ours, without a key in them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import OpenAI from "openai";
import { BadInputError, ConflictError, explain, NotFoundError, RemoteError } from "../../src/contracts/errors.ts";
import { createInventory, RETIRED } from "../../src/inventory/create-inventory.ts";
import type { Inventory } from "../../src/inventory/inventory.ts";
import { createResponseLog } from "../../src/inventory/response-log.ts";

/** A backend that answers everything in one way. */
function answering(status: number, message: string): Inventory {
  const fetch = async (): Promise<Response> =>
    Response.json({ error: { message, type: "invalid_request_error", param: null, code: null } }, { status });
  const client = new OpenAI({ baseURL: "http://backend.invalid", apiKey: "none", maxRetries: 0, fetch });
  return createInventory({ client, clientFor: () => client, responseLog: createResponseLog("/nowhere") });
}

const CASES = [
  [400, BadInputError, /^The backend refused to create the vector store: Too long\.$/],
  [404, NotFoundError, /^The backend refused to create the vector store: Too long\.$/],
  [409, ConflictError, /Too long/],
  [422, BadInputError, /Too long/],
  [403, RemoteError, /^Cannot create the vector store: the backend answered 403: Too long\.$/],
  [429, RemoteError, /answered 429/],
  [503, RemoteError, /answered 503/],
] as const;

describe("what the backend refuses", () => {
  for (const [status, kind, words] of CASES) {
    it(`${status} becomes ${kind.name}`, async () => {
      await assert.rejects(answering(status, "Too long.").stores.create({ name: "x" }), (error) => {
        assert.ok(error instanceof kind);
        assert.match(explain(error), words);
        return true;
      });
    });
  }

  it("never repeats a key", async () => {
    const said = "Incorrect API key provided: sk-proj-abc123.";
    for (const status of [401, 403, 400]) {
      await assert.rejects(answering(status, said).stores.get("vs_1"), (error) => {
        assert.doesNotMatch(explain(error), /abc123/);
        return true;
      });
    }
  });

  it("knows that assistants are retired from a backend that has none at all", async () => {
    const { assistants } = answering(404, "Not found");
    for (const asked of [assistants.get("asst_1"), assistants.create({ model: "gpt-4o" })]) {
      await assert.rejects(asked, (error) => {
        assert.ok(error instanceof NotFoundError);
        assert.equal(error.message, RETIRED);
        return true;
      });
    }
  });
});
