import { resolve } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import { type AccessSettings, readAccess } from "./access-settings.ts";
import { type AnswerSettings, readAnswers } from "./answer-settings.ts";
import {
  type DatabaseSettings,
  type EmbeddingSettings,
  type JobPlace,
  readDatabase,
  readEmbeddings,
} from "./index-settings.ts";
import { Secret } from "./secret.ts";
import { createSettingReader, type Environment, type SettingReader } from "./setting-reader.ts";
import { readSharePointSettings, type SharePointSettings } from "./sharepoint-settings.ts";
import type { GroupAccess } from "./storage-rights.ts";
import { readTreeSettings, type TreeSettings } from "./tree-settings.ts";
import { warnOfUnused } from "./unused-settings.ts";
import { Variables } from "./variables.ts";
import { readWebSettings, type WebSettings } from "./web-settings.ts";

/** Every setting, parsed and checked once at the start. Plain data; what must not be printed is a Secret. */
export interface Config {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Absolute. */
  readonly storagePath: string;
  readonly groupAccess: GroupAccess;
  /** null: none of its settings is set, and SharePoint sources cannot be crawled. */
  readonly sharepoint: SharePointSettings | null;
  readonly web: WebSettings;
  readonly trees: TreeSettings;
  readonly variables: Variables;
  readonly backend: BackendSettings;
  readonly access: AccessSettings;
  readonly search: SearchSettings;
  readonly answers: AnswerSettings;
  readonly database: DatabaseSettings;
  readonly embeddings: EmbeddingSettings;
  readonly runJobsIn: JobPlace;
  /** How long a vector store is kept after a fresh one took its place. */
  readonly keepSupersededDays: number;
  /** While a step runs, so many rows at a time are appended to the map files. */
  readonly appendToMapsEvery: number;
  /** How long reports of crawls are kept; 0: for ever. The newest of a domain always is. */
  readonly keepReportsDays: number;
  /** Extensions without dot; null: what the backend accepts by default. */
  readonly acceptedTypes: ReadonlySet<string> | null;
  /** One sentence each, to be shown at the start. */
  readonly warnings: readonly string[];
}

export type BackendSettings =
  | { readonly kind: "embedded" }
  | {
      readonly kind: "openai";
      readonly apiKey: Secret;
      /** "" for OpenAI itself. */
      readonly baseUrl: string;
      readonly organization: string;
      /** Writes answers where search needs one; "" for none. */
      readonly model: string;
    }
  | {
      readonly kind: "azure_openai";
      readonly apiKey: Secret;
      readonly endpoint: string;
      readonly apiVersion: string;
      /** The deployment that writes answers where search needs one; "" for none. */
      readonly model: string;
    };

export interface SearchSettings {
  /** "" for none. */
  readonly defaultVectorStoreId: string;
  readonly maxNumResults: number;
  /** Where the documents come from, for clients that ask what this is; "" when nobody said. */
  readonly contentRoot: string;
}

/** Lists every problem with the settings, one line each. */
export class ConfigError extends BadInputError {
  override readonly name: string = "ConfigError";
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}:\n${problems.map((text) => `- ${text}`).join("\n")}`,
    );
    this.problems = problems;
  }
}

/** Throws ConfigError. Relative paths are meant from the current folder. */
export function readConfig(env: Environment): Config {
  const reader = createSettingReader(env);
  const storagePath = readStoragePath(reader);
  const host = reader.text("HOST", "127.0.0.1");
  const backend = readBackend(reader);
  const config = {
    host,
    port: reader.number("PORT", 8000, { min: 0, max: 65535 }),
    storagePath,
    groupAccess: reader.choice("STORAGE_GROUP_ACCESS", ["none", "read", "write"]),
    sharepoint: readSharePointSettings(reader, storagePath),
    web: readWebSettings(reader),
    trees: readTreeSettings(reader),
    variables: new Variables(env),
    backend,
    access: readAccess(reader, host),
    search: {
      defaultVectorStoreId: reader.text("SEARCH_DEFAULT_GLOBAL_VECTOR_STORE_ID"),
      maxNumResults: reader.number("SEARCH_DEFAULT_MAX_NUM_RESULTS", 20, { min: 1, max: 50 }),
      contentRoot: reader.url("SEARCH_DEFAULT_SHAREPOINT_ROOT_URL", "warn"),
    },
    answers: readAnswers(reader, backend.kind),
    database: readDatabase(reader, storagePath),
    embeddings: readEmbeddings(reader),
    runJobsIn: reader.choice("RUN_JOBS_IN", ["server", "workers"]),
    appendToMapsEvery: reader.number("APPEND_TO_MAP_FILES_EVERY_X_LINES", 10, { min: 1, max: 1_000_000 }),
    keepSupersededDays: reader.number("SWAP_KEEP_DAYS", 7, { min: 0, max: 365 }),
    keepReportsDays: reader.number("REPORT_KEEP_DAYS", 0, { min: 0, max: 36_500 }),
    acceptedTypes: readAcceptedTypes(reader),
  };
  if (reader.problems.length > 0) throw new ConfigError(reader.problems);
  return { ...config, warnings: [...reader.warnings, ...warnOfUnused(env, reader.asked)] };
}

function readStoragePath(reader: SettingReader): string {
  const oldName = reader.text("LOCAL_PERSISTENT_STORAGE_PATH");
  return resolve(reader.text("PERSISTENT_STORAGE_PATH") || oldName || "./storage");
}

function readBackend(reader: SettingReader): BackendSettings {
  const kind = reader.choice("OPENAI_SERVICE_TYPE", ["embedded", "openai", "azure_openai"]);
  const openAiKey = reader.text("OPENAI_API_KEY");
  const baseUrl = reader.url("OPENAI_BASE_URL", "warn");
  const organization = reader.text("OPENAI_ORGANIZATION");
  const azureKey = reader.text("AZURE_OPENAI_API_KEY");
  const endpoint = reader.url("AZURE_OPENAI_ENDPOINT", "refuse");
  const apiVersion = reader.text("AZURE_OPENAI_API_VERSION", "2025-04-01-preview");
  const openAiModel = reader.text("OPENAI_DEFAULT_MODEL_NAME");
  const azureModel = reader.text("AZURE_OPENAI_DEFAULT_MODEL_DEPLOYMENT_NAME");
  if (kind === "openai") {
    if (!openAiKey) reader.problems.push("OPENAI_API_KEY is needed, because OPENAI_SERVICE_TYPE is openai.");
    return { kind, apiKey: new Secret(openAiKey), baseUrl, organization, model: openAiModel };
  }
  if (kind === "azure_openai") {
    const reason = "is needed, because OPENAI_SERVICE_TYPE is azure_openai.";
    if (!azureKey) reader.problems.push(`AZURE_OPENAI_API_KEY ${reason}`);
    if (!endpoint) reader.problems.push(`AZURE_OPENAI_ENDPOINT ${reason}`);
    return { kind, apiKey: new Secret(azureKey), endpoint, apiVersion, model: azureModel };
  }
  return { kind };
}

function readAcceptedTypes(reader: SettingReader): ReadonlySet<string> | null {
  const given = reader.text("ACCEPTED_FILE_TYPES");
  if (!given) return null;
  const types = given.split(",").map((type) => type.trim().replace(/^\./, "").toLowerCase());
  const wrong = types.filter((type) => !/^[a-z0-9_]+$/.test(type));
  if (wrong.length > 0) {
    reader.problems.push(
      `ACCEPTED_FILE_TYPES must be extensions separated by commas, e.g. docx,pdf; it is '${given}'.`,
    );
  }
  return new Set(types);
}
