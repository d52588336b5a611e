import { RemoteError } from "../../../contracts/errors.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import { readSseEvents } from "../../../lib/read-sse-events.ts";
import { WireError } from "../wire/wire-error.ts";
import type { Answer, Answerer, Ending, Passage } from "./answerer.ts";
import { toChatRequest } from "./chat-codec.ts";
import type { ChatModel } from "./chat-model.ts";
import { createCitationReader } from "./citation-reader.ts";

/** Has a language model write the answer, from the passages if there was a search. */
export function createModelAnswerer(model: ChatModel): Answerer {
  return {
    async answer(question, signal) {
      const { body, shown } = toChatRequest(question, model);
      const headers = { "content-type": "application/json" };
      // Only the path is looked at.
      const request = new Request("http://model.invalid/chat/completions", {
        method: "POST",
        headers,
        body: JSON.stringify(body),
        signal,
      });
      const response = await model.complete(request);
      if (!response.ok) throw await refusalOf(response);
      return readAnswer(response, shown);
    },
  };
}

async function* readAnswer(response: Response, passages: readonly Passage[]): Answer {
  const citations = createCitationReader(passages);
  let finish = "";
  for await (const { text, finishReason } of piecesOf(response)) {
    finish = finishReason || finish;
    yield* citations.read(text);
  }
  yield* citations.end();
  if (finish === "") throw brokenOff();
  return { cutShort: finish === "length" } satisfies Ending;
}

interface Piece {
  readonly text: string;
  /** "" until the last. */
  readonly finishReason: string;
}

/** Token by token, or all at once from a server that does not stream. */
async function* piecesOf(response: Response): AsyncGenerator<Piece> {
  if (!response.headers.get("content-type")?.includes("text/event-stream")) {
    yield readPiece(await response.json(), "message");
    return;
  }
  try {
    for await (const { data } of readSseEvents(response.body ?? new ReadableStream())) {
      if (data === "[DONE]") return;
      yield readPiece(JSON.parse(data), "delta");
    }
  } catch (error) {
    throw error instanceof RemoteError ? error : brokenOff(error);
  }
}

function readPiece(value: unknown, field: "delta" | "message"): Piece {
  const body: JsonObject = isJsonObject(value) ? value : {};
  if (isJsonObject(body["error"])) throw new RemoteError(String(body["error"]["message"]));
  const choice: unknown = Array.isArray(body["choices"]) ? body["choices"][0] : undefined;
  if (!isJsonObject(choice)) return { text: "", finishReason: "" };
  const said: JsonObject = isJsonObject(choice[field]) ? choice[field] : {};
  const text = said["content"] ?? said["refusal"];
  const finish = choice["finish_reason"];
  return { text: typeof text === "string" ? text : "", finishReason: typeof finish === "string" ? finish : "" };
}

function brokenOff(cause?: unknown): RemoteError {
  return new RemoteError("The answer of the language model broke off.", { cause });
}

/** Its status and its words. */
async function refusalOf(response: Response): Promise<WireError> {
  const body: unknown = await response.json().catch(() => undefined);
  const error: JsonObject = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : {};
  const said = typeof error["message"] === "string" ? error["message"] : `it answered with HTTP ${response.status}.`;
  const code = typeof error["code"] === "string" ? error["code"] : null;
  return new WireError(response.status, `The language model did not answer: ${said}`, null, code);
}
