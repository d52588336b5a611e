import type { HttpModelSettings } from "./http-embedder.ts";
import { createLearntModel } from "./learnt-model.ts";
import type { VectorModel } from "./vector-model.ts";

/** Where vectors come from, in a form that can be sent to a thread. Contains an endpoint's key: must not be logged. */
export type VectorModelSettings =
  /** Learnt from the documents themselves. */
  | { readonly kind: "built-in" }
  | ({ readonly kind: "endpoint" } & Omit<HttpModelSettings, "wait">)
  | { readonly kind: "onnx"; readonly folder: string };

/** Loads only what the settings need: a search thread should start quickly. */
export async function openVectorModel(settings: VectorModelSettings): Promise<VectorModel> {
  switch (settings.kind) {
    case "built-in":
      return createLearntModel();
    case "endpoint":
      return (await import("./http-embedder.ts")).createHttpModel(settings);
    case "onnx":
      return (await import("./onnx-embedder.ts")).createOnnxModel(settings.folder);
  }
}
