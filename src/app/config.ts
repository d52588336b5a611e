import { delimiter, resolve } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { looksRandom } from "../security/looks-random.ts";
import type { WithoutKeys } from "../security/open-access.ts";
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

/** Who may come in, and how much of it. */
export interface AccessSettings {
  /** A key with every right that is not kept on disk; empty for none. */
  readonly adminKey: Secret;
  /** null: tokens of Entra ID are not accepted. */
  readonly entra: EntraSettings | null;
  /** Host names the server is reached by, beside its address. */
  readonly allowedHosts: readonly string[];
  /** Requests a second for each key; 0: as many as they like. */
  readonly requestsPerSecond: number;
  /** What a reverse proxy says of the client, its address and whether it came by https, is believed. */
  readonly behindProxy: boolean;
  /** Who comes in while there is neither a key nor Entra ID. */
  readonly withoutKeys: WithoutKeys;
}

export interface EntraSettings {
  readonly tenantId: string;
  readonly audience: string;
  readonly authority: string;
}

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const HOST_NAME = /^[a-z0-9._-]+$/i;
const SHORTEST_KEY = 24;

export function readAccess(reader: SettingReader, host: string): AccessSettings {
  const allowedHosts = readAllowedHosts(reader);
  const behindProxy = reader.flag("BEHIND_PROXY");
  return {
    adminKey: readAdminKey(reader),
    entra: readEntra(reader),
    allowedHosts,
    requestsPerSecond: reader.number("RATE_LIMIT_PER_SECOND", 20, { min: 0, max: 100_000 }),
    behindProxy,
    withoutKeys: readWithoutKeys(reader, [host, ...allowedHosts], behindProxy),
  };
}

/** A proxy brings others in whatever names it uses: many ask for 127.0.0.1, as this machine's own users do. */
function readWithoutKeys(reader: SettingReader, hosts: readonly string[], behindProxy: boolean): WithoutKeys {
  const allowed = reader.flag("ALLOW_UNAUTHENTICATED_NETWORK_ACCESS");
  const reachable = hosts.find((name) => !isLoopbackHost(name)) ?? (behindProxy ? "a proxy" : undefined);
  if (reachable === undefined) return allowed ? "everybody" : "own account";
  if (!allowed) return "nobody";
  reader.warnings.push(
    `ALLOW_UNAUTHENTICATED_NETWORK_ACCESS is true and the server answers to ${reachable}: without keys, everyone who can reach this server can read and change everything.`,
  );
  return "everybody";
}

function readAdminKey(reader: SettingReader): Secret {
  const key = reader.text("ADMIN_API_KEY");
  if (key !== "" && (key.length < SHORTEST_KEY || new Set(key).size < 8)) {
    reader.problems.push(
      `ADMIN_API_KEY must have at least ${SHORTEST_KEY} characters that nobody can guess, for example what 'openssl rand -hex 32' prints.`,
    );
  }
  if (key !== "" && !looksRandom(key)) {
    reader.warnings.push(
      "ADMIN_API_KEY has fewer than 128 random bits as hex or base64, so it could be guessed; from an address that guessed too often it is not accepted. Make a better one with 'openssl rand -hex 32'.",
    );
  }
  return new Secret(key);
}

function readEntra(reader: SettingReader): EntraSettings | null {
  const tenantId = reader.text("ENTRA_TENANT_ID").toLowerCase();
  const audience = reader.text("ENTRA_AUDIENCE");
  const authority = reader.url("ENTRA_AUTHORITY", "refuse") || "https://login.microsoftonline.com";
  if ((tenantId === "") !== (audience === "")) {
    reader.problems.push("ENTRA_TENANT_ID and ENTRA_AUDIENCE go together: set both, or none.");
  } else if (tenantId !== "" && !GUID.test(tenantId)) {
    reader.problems.push("ENTRA_TENANT_ID must be the id of the tenant, as in its overview page: 8-4-4-4-12 digits.");
  }
  return tenantId ? { tenantId, audience, authority } : null;
}

function readAllowedHosts(reader: SettingReader): string[] {
  const names = reader
    .text("ALLOWED_HOSTS")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (!names.every((name) => HOST_NAME.test(name))) {
    reader.problems.push("ALLOWED_HOSTS must be host names without port, separated by commas, e.g. kb.example.com.");
  }
  return names;
}

/** What is kept of files without ids, and which folders may be read at all. */
export interface TreeSettings {
  /** Absolute. Folders that sources may lie in; none: anywhere. */
  readonly roots: readonly string[];
  /** Absolute. Folders that files registered one by one may lie in; none: nowhere. */
  readonly fileRoots: readonly string[];
  /** Names the environment variable with which single blobs are read; "": as anybody reads them. */
  readonly blobCredential: string;
  /** Which of several managed identities of this machine reads containers; "": the one it has. */
  readonly identityClientId: string;
  /** A file is purged when it was missing in so many complete looks and for so long. */
  readonly graceRuns: number;
  readonly graceHours: number;
  /** How long a purged file is remembered by its hash, so that it gets its identity back. */
  readonly keepDeletedDays: number;
  /** Earlier versions of a document: so many at most, and for so long at most. */
  readonly keepVersions: number;
  readonly keepVersionDays: number;
}

export function readTreeSettings(reader: SettingReader): TreeSettings {
  const count = (name: string, usual: number, max: number, min = 0): number => reader.number(name, usual, { min, max });
  return {
    roots: foldersIn(reader.text("FOLDER_ROOTS")),
    fileRoots: foldersIn(reader.text("INGEST_FILE_ROOTS")),
    blobCredential: reader.text("INGEST_BLOB_CREDENTIAL"),
    identityClientId: reader.text("AZURE_MANAGED_IDENTITY_CLIENT_ID"),
    graceRuns: count("MISSING_GRACE_RUNS", 3, 1000),
    graceHours: count("MISSING_GRACE_HOURS", 24, 87_600),
    keepDeletedDays: count("DELETED_KEEP_DAYS", 30, 36_500),
    keepVersions: count("VERSIONS_KEEP", 10, 10_000),
    keepVersionDays: count("VERSIONS_KEEP_DAYS", 90, 36_500),
  };
}

function foldersIn(text: string): readonly string[] {
  const folders = text.split(delimiter).map((folder) => folder.trim());
  return folders.filter((folder) => folder !== "").map((folder) => resolve(folder));
}

/** Names that setups of the older middleware carry, and what became of them. A plain "false" asks for nothing. */
const NOT_SUPPORTED: Readonly<Record<string, string>> = {
  CRAWLER_USE_MANAGED_IDENTITY: "managed identity is not supported; use a certificate",
  CRAWLER_MANAGED_IDENTITY_OBJECT_ID: "managed identity is not supported; use a certificate",
  AZURE_OPENAI_USE_MANAGED_IDENTITY: "managed identity is not supported; use AZURE_OPENAI_API_KEY",
  AZURE_TENANT_ID: "signing in to Azure OpenAI with an app is not supported; use AZURE_OPENAI_API_KEY",
  AZURE_CLIENT_ID: "signing in to Azure OpenAI with an app is not supported; use AZURE_OPENAI_API_KEY",
  AZURE_CLIENT_SECRET: "signing in to Azure OpenAI with an app is not supported; use AZURE_OPENAI_API_KEY",
  AZURE_CLIENT_NAME: "signing in to Azure OpenAI with an app is not supported; use AZURE_OPENAI_API_KEY",
  CRAWLER_SELFTEST_SHAREPOINT_SITE: "the crawler's self-test is not supported",
  CRAWLER_SELFTEST_DOMAIN: "the crawler's self-test is not supported",
  PNP_CLIENT_ID: "PnP is not used",
  CRAWLER_CLIENT_NAME: "the name of the app is not needed",
  CRAWLER_SHAREPOINT_TENANT_NAME: "the site addresses already name the tenant",
  AZURE_OPENAI_USE_KEY_AUTHENTICATION: "Azure OpenAI is always used with AZURE_OPENAI_API_KEY",
};

/** The same, of what is still to come. */
const NOT_YET: Readonly<Record<string, string>> = {
  LOG_QUERIES_AND_RESPONSES: "queries and answers are not logged",
};

const OUR_PREFIXES =
  /^(CRAWLER|OPENAI|AZURE_OPENAI|SEARCH|EMBEDDINGS|DATABASE|SWAP|ENTRA|WEB|CRAWL|IMAGE|REGISTRY|INGEST|TRACKING|FOLDER|MISSING|DELETED|VERSIONS)_/;
/** Two slips of the finger; three would match names that mean something else. */
const NEAR = 2;

/** One sentence for every setting that is set and has no effect. */
export function warnOfUnused(env: Environment, known: ReadonlySet<string>): string[] {
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!value?.trim() || known.has(name)) continue;
    const effect = sayNoEffect(name);
    if (effect !== undefined) {
      if (value.trim().toLowerCase() !== "false") warnings.push(`${name} is set but ${effect}.`);
    } else if (OUR_PREFIXES.test(name)) {
      const meant = nearest(name, known);
      if (meant) warnings.push(`${name} is not a setting; did you mean ${meant}?`);
    }
  }
  return warnings.sort();
}

function sayNoEffect(name: string): string | undefined {
  if (Object.hasOwn(NOT_SUPPORTED, name)) return `has no effect: ${NOT_SUPPORTED[name]}`;
  return Object.hasOwn(NOT_YET, name) ? `has no effect yet: ${NOT_YET[name]}` : undefined;
}

function nearest(name: string, known: ReadonlySet<string>): string | undefined {
  const ranked = [...known]
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    .sort((a, b) => a.distance - b.distance);
  return ranked[0] && ranked[0].distance <= NEAR ? ranked[0].candidate : undefined;
}

/** Characters to insert, delete or replace to get from one text to the other. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}

/** Environment variables that sources name: `.env` counts, too. They are secrets, so there is nothing here to be printed. */
export class Variables {
  readonly #settings: Environment;

  constructor(settings: Environment) {
    this.#settings = settings;
  }

  /** undefined when it is not set. */
  read(name: string): string | undefined {
    return this.#settings[name] ?? process.env[name];
  }
}
