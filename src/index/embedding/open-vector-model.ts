import type { HttpModelSettings } from "./http-embedder.ts";
import { createLearntModel } from "./learnt-model.ts";
import type { VectorModel } from "./vector-model.ts";

/** Where vectors come from, in words that can be sent to a thread. An endpoint's key is among them: they go into no log. */
export type VectorModelSettings =
  /** Learnt from the documents themselves. */
  | { readonly kind: "built-in" }
  | ({ readonly kind: "endpoint" } & Omit<HttpModelSettings, "wait">)
  | { readonly kind: "onnx"; readonly folder: string };

/** What only some settings need is loaded only then: a thread that searches should be there soon. */
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
