import { noSuchModel } from "../wire/wire-error.ts";
import type { Answerer } from "./answerer.ts";
import type { ChatModel } from "./chat-model.ts";
import { createExtractiveAnswerer, EXTRACTIVE_MODEL } from "./extractive-answerer.ts";
import { createModelAnswerer } from "./model-answerer.ts";

/** What answers, by the names clients ask for. */
export interface Answerers {
  /** The first is the one that answers when a request names none. */
  readonly models: readonly [string, ...string[]];
  /** A language model may be asked by other names than the listed ones: its address knows them. */
  of(model: string): Answerer;
}

export function createAnswerers(model: ChatModel | undefined): Answerers {
  const quoting = createExtractiveAnswerer();
  const writing = model && createModelAnswerer(model);
  return {
    models: model ? [model.name, EXTRACTIVE_MODEL] : [EXTRACTIVE_MODEL],
    of(name) {
      if (name === EXTRACTIVE_MODEL) return quoting;
      if (!writing) throw noSuchModel(name, [EXTRACTIVE_MODEL]);
      return writing;
    },
  };
}
