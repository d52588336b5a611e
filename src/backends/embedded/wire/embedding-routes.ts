import { Hono } from "hono";
import { estimateTokens } from "../../../index/estimate-tokens.ts";
import type { AnswerContext } from "../answers/answer-context.ts";
import { asArray, asNumber, asOneOf, asString, readFields } from "./read-fields.ts";
import { badRequest, noSuchModel } from "./wire-error.ts";

const FIELDS = ["input", "model", "dimensions", "encoding_format", "user"];
const MAX_TEXTS = 2048;

/** Below `/embeddings`. */
export function embeddingRoutes(parts: Pick<AnswerContext, "embedder">): Hono {
  const routes = new Hono();
  routes.post("/", async ({ req, json }) => {
    const fields = await readFields(req.raw, FIELDS);
    const texts = readTexts(fields["input"]);
    const format = asOneOf(fields["encoding_format"] ?? "float", "encoding_format", ["float", "base64"]);
    if (fields["model"] === undefined) throw badRequest("Missing required parameter: 'model'.", "model");
    const model = asString(fields["model"], "model");
    const embedder = await parts.embedder();
    if (model !== embedder.model) throw noSuchModel(model, [embedder.model]);
    const range = { min: 1, max: embedder.dimensions, integer: true };
    const dimensions = asNumber(fields["dimensions"] ?? embedder.dimensions, "dimensions", range);
    const vectors = await embedder.embed(texts, req.raw.signal);
    const tokens = Math.ceil(texts.reduce((sum, text) => sum + estimateTokens(text), 0));
    return json({
      object: "list",
      data: vectors.map((vector, index) => ({
        object: "embedding",
        index,
        embedding: encode(shortened(vector, dimensions), format),
      })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    });
  });
  return routes;
}

function readTexts(input: unknown): string[] {
  if (input === undefined) throw badRequest("Missing required parameter: 'input'.", "input");
  const values = typeof input === "string" ? [input] : asArray(input, "input");
  if (values.length === 0 || values.length > MAX_TEXTS) {
    throw badRequest(`'input' must have from 1 to ${MAX_TEXTS} texts.`, "input");
  }
  if (values.some((value) => typeof value === "number" || Array.isArray(value))) {
    throw badRequest("'input' has token numbers: the embedded backend reads text, send strings.", "input");
  }
  const texts = values.map((value) => asString(value, "input"));
  if (texts.includes("")) throw badRequest("'input' must not have an empty string.", "input");
  return texts;
}

/** The first dimensions, made a vector of length 1 again. */
function shortened(vector: Float32Array, dimensions: number): Float32Array {
  if (dimensions === vector.length) return vector;
  const cut = vector.slice(0, dimensions);
  const length = Math.hypot(...cut);
  return length === 0 ? cut : cut.map((value) => value / length);
}

function encode(vector: Float32Array, format: "float" | "base64"): number[] | string {
  if (format === "float") return [...vector];
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64");
}
