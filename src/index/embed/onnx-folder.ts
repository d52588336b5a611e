import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { BadInputError } from "../../contracts/errors.ts";

/** A model as it is downloaded: weights, tokenizer, and how its vectors are to be read. */
export interface OnnxFolder {
  readonly name: string;
  readonly weights: Uint8Array;
  readonly tokenizer: object;
  readonly tokenizerConfig: object;
  /** The most tokens it can read at once. */
  readonly maxTokens: number;
  readonly pooling: "mean" | "cls";
  /** Changes with anything that changes vectors. */
  readonly revision: string;
}

const WEIGHTS = ["model.onnx", "onnx/model.onnx"];
/** Where no file of the model says anything else. */
const DEFAULT_MAX_TOKENS = 512;
/** Some tokenizers write a huge number where they mean that they do not care. */
const PLAUSIBLE_TOKENS = 1_000_000;

/** Throws BadInputError that says which file is missing or broken. */
export async function readOnnxFolder(folder: string): Promise<OnnxFolder> {
  const weights = await readWeights(folder);
  const tokenizer = await readJson(folder, "tokenizer.json");
  if (!tokenizer) throw new BadInputError(`read model ${folder}: tokenizer.json is missing`);
  const tokenizerConfig = (await readJson(folder, "tokenizer_config.json")) ?? {};
  const config = (await readJson(folder, "config.json")) ?? {};
  const sentence = (await readJson(folder, "sentence_bert_config.json")) ?? {};
  const poolingConfig = (await readJson(folder, "1_Pooling/config.json")) ?? {};
  const pooling = poolingConfig["pooling_mode_cls_token"] === true ? "cls" : "mean";
  const limits = [sentence["max_seq_length"], tokenizerConfig["model_max_length"], config["max_position_embeddings"]];
  const known = limits.filter(
    (limit) => typeof limit === "number" && limit > 2 && limit < PLAUSIBLE_TOKENS,
  ) as number[];
  const maxTokens = known.length > 0 ? Math.min(...known) : DEFAULT_MAX_TOKENS;
  const hash = createHash("sha256")
    .update(weights)
    .update(JSON.stringify([tokenizer, pooling, maxTokens]));
  return {
    name: basename(resolve(folder)),
    weights,
    tokenizer,
    tokenizerConfig,
    maxTokens,
    pooling,
    revision: hash.digest("hex").slice(0, 16),
  };
}

async function readWeights(folder: string): Promise<Uint8Array> {
  for (const name of WEIGHTS) {
    const bytes = await readIfThere(join(folder, name));
    if (bytes) return bytes;
  }
  throw new BadInputError(`read model ${folder}: it has neither ${WEIGHTS.join(" nor ")}`);
}

async function readJson(folder: string, name: string): Promise<Record<string, unknown> | undefined> {
  const bytes = await readIfThere(join(folder, name));
  if (!bytes) return undefined;
  try {
    return JSON.parse(bytes.toString("utf8")) as Record<string, unknown>;
  } catch (error) {
    throw new BadInputError(`read model ${folder}: ${name} is not JSON`, { cause: error });
  }
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new BadInputError(`read ${path}: it cannot be opened`, { cause: error });
  }
}
