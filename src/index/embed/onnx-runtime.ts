import { BadInputError } from "../../contracts/errors.ts";

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

/** The native one is several times as fast; neither comes with the product, since few need them and they are large. */
const PACKAGES = ["onnxruntime-node", "onnxruntime-web"];

export async function loadOnnxRuntime(): Promise<OnnxRuntime> {
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
