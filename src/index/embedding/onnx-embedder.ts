import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import type { Embedder } from "../../contracts/embedder.ts";
import { BadInputError, CancelledError } from "../../contracts/errors.ts";
import { slicesOf } from "../../lib/slices-of.ts";
import { addRow } from "./learn-vectors.ts";
import { createServiceModel, isOf, onceOpened, type VectorModel } from "./vector-model.ts";
import { normalise } from "./vectors.ts";

/** Longer batches hardly gain, and they fill up the shorter texts. */
const BATCH = 16;

/** A model in a folder of this machine, loaded when it is first needed. */
export function createOnnxModel(folder: string): VectorModel {
  const open = onceOpened(() => openOnnxEmbedder(folder));
  return createServiceModel(open, async (space) => {
    if (!space.model.startsWith("onnx:")) return undefined;
    const embedder = await open();
    return isOf(space, embedder) ? embedder : undefined;
  });
}

/** Throws BadInputError when the folder is not a model, or the program that runs models is not installed. */
export async function openOnnxEmbedder(folder: string): Promise<Embedder> {
  const model = await readOnnxFolder(folder);
  const runtime = await loadOnnxRuntime();
  const { session, encode } = await load(runtime, model).catch((error: unknown) => {
    throw new BadInputError(`load model ${folder}: its weights or its tokenizer cannot be used`, { cause: error });
  });
  const embedBatch = async (texts: readonly string[]): Promise<Float32Array[]> => {
    const rows = texts.map(encode);
    const inputs = tensorsOf(runtime, session, rows);
    return poolOutput(await session.run(inputs), session, rows, model.pooling).map(normalise);
  };
  const [probe] = await embedBatch(["dimensions"]);
  return {
    model: `onnx:${model.name}`,
    revision: model.revision,
    dimensions: probe?.length ?? 0,
    async embed(texts, signal) {
      const vectors: Float32Array[] = [];
      for (const slice of slicesOf(texts, BATCH)) {
        if (signal?.aborted) throw new CancelledError("embed passages: cancelled", { cause: signal.reason });
        vectors.push(...(await embedBatch(slice)));
      }
      return vectors;
    },
  };
}

async function load(runtime: OnnxRuntime, model: OnnxFolder): Promise<{ session: OnnxSession; encode: Encode }> {
  return { session: await runtime.InferenceSession.create(model.weights), encode: createEncoder(model) };
}

type Encode = (text: string) => readonly number[];

/** Token numbers of a text, cut to the model's window; what ends every text ends the cut one, too. */
function createEncoder({ tokenizer, tokenizerConfig, maxTokens }: OnnxFolder): Encode {
  const encoder = new Tokenizer(tokenizer, tokenizerConfig);
  const ending = encoder.encode("").ids.at(-1);
  return (text) => {
    const { ids } = encoder.encode(text);
    if (ids.length <= maxTokens) return ids;
    const closed = ending !== undefined && ids.at(-1) === ending;
    return closed ? [...ids.slice(0, maxTokens - 1), ending] : ids.slice(0, maxTokens);
  };
}

function tensorsOf(
  { Tensor }: OnnxRuntime,
  session: OnnxSession,
  rows: readonly (readonly number[])[],
): Record<string, OnnxTensor> {
  const width = Math.max(1, ...rows.map((row) => row.length));
  const fill = (value: (row: readonly number[], at: number) => number): OnnxTensor => {
    const values = new BigInt64Array(rows.length * width);
    for (const [index, row] of rows.entries()) {
      for (let at = 0; at < row.length; at++) values[index * width + at] = BigInt(value(row, at));
    }
    return new Tensor("int64", values, [rows.length, width]);
  };
  const known: Readonly<Record<string, () => OnnxTensor>> = {
    input_ids: () => fill((row, at) => row[at] ?? 0),
    attention_mask: () => fill(() => 1),
    token_type_ids: () => fill(() => 0),
    position_ids: () => fill((_row, at) => at),
  };
  const inputs: Record<string, OnnxTensor> = {};
  for (const name of session.inputNames) {
    const make = known[name];
    if (!make) throw new Error(`run model: it wants '${name}', which is none of ${Object.keys(known).join(", ")}`);
    inputs[name] = make();
  }
  return inputs;
}

/** Returns one vector per text: the model's own, the mean of its tokens, or that of the first token (CLS). */
function poolOutput(
  outputs: Readonly<Record<string, OnnxTensor>>,
  session: OnnxSession,
  rows: readonly (readonly number[])[],
  pooling: OnnxFolder["pooling"],
): Float32Array[] {
  const first = session.outputNames[0] ?? "";
  const { dims, data } = outputs["sentence_embedding"] ?? outputs["last_hidden_state"] ?? outputs[first] ?? noOutput();
  const numbers = Float32Array.from(data as ArrayLike<number>);
  const dimensions = dims.at(-1) ?? 0;
  if (dims.length === 2) return rows.map((_, at) => numbers.slice(at * dimensions, (at + 1) * dimensions));
  const width = dims[1] ?? 0;
  return rows.map((row, index) => {
    const sum = new Float32Array(dimensions);
    const tokens = pooling === "cls" ? Math.min(1, row.length) : row.length;
    for (let at = 0; at < tokens; at++) addRow(sum, 0, numbers, (index * width + at) * dimensions, 1, dimensions);
    return sum;
  });
}

function noOutput(): never {
  throw new Error("run model: it gives no output");
}

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
/** Default if no file of the model says otherwise. */
const DEFAULT_MAX_TOKENS = 512;
/** Some tokenizers write a huge number to mean no limit. */
const PLAUSIBLE_TOKENS = 1_000_000;

/** Throws BadInputError that says which file is missing or broken. */
async function readOnnxFolder(folder: string): Promise<OnnxFolder> {
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

/** What we use of onnxruntime, which has the same interface in its two packages. */
export interface OnnxRuntime {
  readonly InferenceSession: { create(model: Uint8Array): Promise<OnnxSession> };
  readonly Tensor: new (type: "int64", values: BigInt64Array, shape: readonly number[]) => OnnxTensor;
}

export interface OnnxSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(inputs: Readonly<Record<string, OnnxTensor>>): Promise<Readonly<Record<string, OnnxTensor>>>;
}

export interface OnnxTensor {
  readonly dims: readonly number[];
  readonly data: unknown;
}

/** The native one is several times as fast; neither comes with the product, because few need them and they are large. */
const PACKAGES = ["onnxruntime-node", "onnxruntime-web"];

async function loadOnnxRuntime(): Promise<OnnxRuntime> {
  for (const name of PACKAGES) {
    try {
      const loaded = (await import(name)) as OnnxRuntime & { default?: OnnxRuntime };
      return loaded.InferenceSession ? loaded : (loaded.default ?? loaded);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") {
        throw new BadInputError(`load ${name}: it is installed but does not start`, { cause: error });
      }
    }
  }
  throw new BadInputError(
    "A model folder is set for embeddings, but the program that runs it is not installed: npm install onnxruntime-node",
  );
}
