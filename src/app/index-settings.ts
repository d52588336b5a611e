import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { Secret } from "./secret.ts";
import type { SettingReader } from "./setting-reader.ts";

/** Where the embedded index, the queue and everything several machines share is kept. */
export type DatabaseSettings =
  /** Files below this folder, the storage folder unless another one is named. */
  | { readonly kind: "sqlite"; readonly folder: string }
  /** The whole address, with its password. */
  | { readonly kind: "postgres"; readonly url: Secret };

/** Where vectors come from. */
export type EmbeddingSettings =
  /** Learnt from the documents themselves. */
  | { readonly kind: "built-in" }
  | {
      readonly kind: "endpoint";
      /** Up to and including `/v1`; of Azure, up to and including the deployment. */
      readonly baseUrl: string;
      readonly apiKey: Secret;
      readonly model: string;
      /** "" but for Azure with dated versions. */
      readonly apiVersion: string;
      /** 0: as many as the model gives. */
      readonly dimensions: number;
    }
  | { readonly kind: "onnx"; readonly folder: string };

/** Where crawls run that somebody asked the server for. */
export type JobPlace = "server" | "workers";

export function readDatabase(reader: SettingReader, storagePath: string): DatabaseSettings {
  const url = reader.text("DATABASE_URL");
  const folder = reader.text("DATABASE_FOLDER");
  if (url && folder) reader.problems.push("Set DATABASE_URL or DATABASE_FOLDER, not both.");
  if (!url) return { kind: "sqlite", folder: folder ? resolve(folder) : storagePath };
  const { protocol } = URL.parse(url) ?? {};
  if (protocol !== "postgres:" && protocol !== "postgresql:") {
    // Not repeated: it may hold a password.
    reader.problems.push("DATABASE_URL must be an address like postgres://user:password@host:5432/database.");
  }
  return { kind: "postgres", url: new Secret(url) };
}

export function readEmbeddings(reader: SettingReader): EmbeddingSettings {
  const baseUrl = reader.url("EMBEDDINGS_BASE_URL", "warn");
  const apiKey = new Secret(reader.text("EMBEDDINGS_API_KEY"));
  const model = reader.text("EMBEDDINGS_MODEL");
  const apiVersion = reader.text("EMBEDDINGS_API_VERSION");
  const dimensions = reader.number("EMBEDDINGS_DIMENSIONS", 0, { min: 0, max: 4096 });
  const folder = reader.text("EMBEDDINGS_ONNX_FOLDER");
  if (baseUrl && folder) {
    reader.problems.push("Set EMBEDDINGS_BASE_URL or EMBEDDINGS_ONNX_FOLDER, not both.");
  }
  if (folder) {
    if (!existsSync(resolve(folder))) reader.problems.push(`EMBEDDINGS_ONNX_FOLDER: there is no folder '${folder}'.`);
    return { kind: "onnx", folder: resolve(folder) };
  }
  if (!baseUrl) {
    if (model) reader.problems.push("EMBEDDINGS_BASE_URL is needed, because EMBEDDINGS_MODEL is set.");
    return { kind: "built-in" };
  }
  if (!model) reader.problems.push("EMBEDDINGS_MODEL is needed, because EMBEDDINGS_BASE_URL is set.");
  return { kind: "endpoint", baseUrl, apiKey, model, apiVersion, dimensions };
}
