import { parentPort, workerData } from "node:worker_threads";
import { analyze } from "../analyzer.ts";
import { Corpus, learnVectors } from "./learn-vectors.ts";
import { packLearnt } from "./learnt-codec.ts";
import type { LearnMessage, LearnSettings } from "./learnt-model.ts";

const { limits } = workerData as LearnSettings;
const corpus = new Corpus();

parentPort?.on("message", (message: LearnMessage) => {
  for (const text of message.texts) corpus.add(analyze(text));
  if (message.lastChunkId === undefined) return;
  const packed = packLearnt(learnVectors(corpus, limits), message.lastChunkId);
  parentPort?.postMessage(packed, [packed.buffer as ArrayBuffer]);
  parentPort?.close();
});
