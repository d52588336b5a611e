import { existsSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { BadInputError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import { AZURE_SERVICES, endpointsBeside, endpointsIn, type IdentityAccount } from "../lib/azure.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import type { PriceTable } from "../plan/plan-costs.ts";
import type { CheckPolicy } from "../plan/web/item-state.ts";
import { looksRandom } from "../security/looks-random.ts";
import type { WithoutKeys } from "../security/open-access.ts";
import { createSettingReader, type Environment, Secret, type SettingReader } from "./setting-reader.ts";
import { readSharePointSettings, type SharePointSettings } from "./sharepoint-settings.ts";

/** What the group of the storage folder may do in it; others have no access. */
export type GroupAccess = "none" | "read" | "write";

/** All settings, parsed and checked once at the start. Plain data; a value that must not be printed is a Secret. */
export interface Config {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Where people reach this server, without a slash at its end: addresses in answers begin so. "": as each request was sent. */
  readonly publicUrl: string;
  /** Absolute. */
  readonly storagePath: string;
  readonly groupAccess: GroupAccess;
  /** null: none of its settings is set; SharePoint sources cannot be crawled. */
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
  readonly prices: PriceSettings;
  readonly runJobsIn: JobPlace;
  /** How long a vector store is kept after a new one replaced it. */
  readonly keepSupersededDays: number;
  /** During a step, rows are appended to the map files in batches of this size. */
  readonly appendToMapsEvery: number;
  /** How long crawl reports are kept; 0: for ever. The newest report of a domain is always kept. */
  readonly keepReportsDays: number;
  /** Extensions without dot; null: what the backend accepts by default. */
  readonly acceptedTypes: ReadonlySet<string> | null;
  /** One sentence each, shown at the start. */
  readonly warnings: readonly string[];
}

type BackendSettings =
  | { readonly kind: "embedded" }
  | {
      readonly kind: "openai";
      readonly apiKey: Secret;
      /** "" for OpenAI itself. */
      readonly baseUrl: string;
      readonly organization: string;
      /** The model that writes answers where search needs one; "" for none. */
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

interface SearchSettings {
  /** "" for none. */
  readonly defaultVectorStoreId: string;
  readonly maxNumResults: number;
  /** Where the documents come from, for clients that ask; "" if not set. */
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

/** Throws ConfigError. Relative paths start at the current folder. */
export function readConfig(env: Environment): Config {
  const reader = createSettingReader(env);
  const storagePath = readStoragePath(reader);
  const host = reader.text("HOST", "127.0.0.1");
  const backend = readBackend(reader);
  const config = {
    host,
    port: reader.number("PORT", 8000, { min: 0, max: 65535 }),
    publicUrl: readPublicUrl(reader),
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
    prices: readPrices(reader),
    runJobsIn: reader.choice("RUN_JOBS_IN", ["server", "workers"]),
    appendToMapsEvery: reader.number("APPEND_TO_MAP_FILES_EVERY_X_LINES", 10, { min: 1, max: 1_000_000 }),
    keepSupersededDays: reader.number("SWAP_KEEP_DAYS", 7, { min: 0, max: 365 }),
    keepReportsDays: reader.number("REPORT_KEEP_DAYS", 0, { min: 0, max: 36_500 }),
    acceptedTypes: readAcceptedTypes(reader),
  };
  warnOfUnknownHost(config, reader);
  if (reader.problems.length > 0) throw new ConfigError(reader.problems);
  return { ...config, warnings: [...reader.warnings, ...warnOfUnused(env, reader.asked)] };
}

function readStoragePath(reader: SettingReader): string {
  const oldName = reader.text("LOCAL_PERSISTENT_STORAGE_PATH");
  return resolve(reader.text("PERSISTENT_STORAGE_PATH") || oldName || "./storage");
}

function readPublicUrl(reader: SettingReader): string {
  const given = reader.url("PUBLIC_URL", "allow");
  const url = URL.parse(given);
  if (!url) return "";
  if (url.search !== "" || url.hash !== "") {
    reader.problems.push("PUBLIC_URL must be an address without '?' and '#', e.g. https://kb.example.com.");
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** The server refuses requests to host names that it does not know, also those that follow its own links. */
function warnOfUnknownHost(
  { publicUrl, host, access }: Pick<Config, "publicUrl" | "host" | "access">,
  reader: SettingReader,
): void {
  const name = URL.parse(publicUrl)?.hostname.replace(/^\[(.*)\]$/, "$1");
  if (name === undefined || isLoopbackHost(name)) return;
  if ([host, ...access.allowedHosts].some((one) => one.toLowerCase() === name)) return;
  reader.warnings.push(
    `PUBLIC_URL names '${name}', which is not in ALLOWED_HOSTS: unless a reverse proxy changes the Host header, links to documents are refused.`,
  );
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

/** Who has access, and how many requests they may send. */
interface AccessSettings {
  /** A key with all rights that is not stored on disk; empty for none. */
  readonly adminKey: Secret;
  /** null: tokens of Entra ID are not accepted. */
  readonly entra: EntraSettings | null;
  /** Host names of the server, in addition to its address. */
  readonly allowedHosts: readonly string[];
  /** Requests per second for each key; 0: no limit. */
  readonly requestsPerSecond: number;
  /** Trusts the headers of a reverse proxy: client address and scheme. */
  readonly behindProxy: boolean;
  /** Who has access while there is neither a key nor Entra ID. */
  readonly withoutKeys: WithoutKeys;
}

interface EntraSettings {
  readonly tenantId: string;
  readonly audience: string;
  readonly authority: string;
}

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const HOST_NAME = /^[a-z0-9._-]+$/i;
const SHORTEST_KEY = 24;

function readAccess(reader: SettingReader, host: string): AccessSettings {
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

/** A reverse proxy brings in users of other machines even if it connects to 127.0.0.1, as local users do. */
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

/** Retention of files without ids, and the folders that may be read. */
interface TreeSettings {
  /** Absolute. Sources must lie in one of these folders; empty: anywhere. */
  readonly roots: readonly string[];
  /** Absolute. Files registered one by one must lie in one of these folders; empty: none may be registered. */
  readonly fileRoots: readonly string[];
  /** Names the environment variable whose credential reads single blobs; "": reads them anonymously. */
  readonly blobCredential: string;
  /** Client id of the managed identity that reads containers; "": the machine's only one. */
  readonly identityClientId: string;
  /** A file is purged after it was missing in this many complete scans and for this many hours. */
  readonly graceRuns: number;
  readonly graceHours: number;
  /** How long a purged file is remembered by its hash, so that it gets its identity back if it returns. */
  readonly keepDeletedDays: number;
  /** Limits for earlier versions of a document: number and age. */
  readonly keepVersions: number;
  readonly keepVersionDays: number;
}

function readTreeSettings(reader: SettingReader): TreeSettings {
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

/** Settings of the older middleware that have no effect here. "false" is ignored, because it requests nothing. */
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

/** The same for settings that are planned. */
const NOT_YET: Readonly<Record<string, string>> = {
  LOG_QUERIES_AND_RESPONSES: "queries and answers are not logged",
};

const OUR_PREFIXES =
  /^(CRAWLER|OPENAI|AZURE_OPENAI|SEARCH|EMBEDDINGS|DATABASE|SWAP|ENTRA|WEB|CRAWL|IMAGE|REGISTRY|INGEST|TRACKING|FOLDER|MISSING|DELETED|VERSIONS)_/;
/** Two typing errors; a distance of three would match names that mean something else. */
const NEAR = 2;

/** Returns one sentence for every setting that is set and has no effect. */
function warnOfUnused(env: Environment, known: ReadonlySet<string>): string[] {
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

/** Returns the number of characters to insert, delete or replace to turn `a` into `b`. */
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

/** Environment variables that sources name, including those in `.env`. They are secrets, so no property shows them. */
export class Variables {
  readonly #settings: Environment;

  constructor(settings: Environment) {
    this.#settings = settings;
  }

  /** Returns undefined if it is not set. */
  read(name: string): string | undefined {
    return this.#settings[name] ?? process.env[name];
  }
}

/** Where the embedded index, the queue and everything that several machines share is stored. */
type DatabaseSettings =
  /** Files below this folder, which is the storage folder unless DATABASE_FOLDER is set. */
  | { readonly kind: "sqlite"; readonly folder: string }
  /** The complete URL with its password. */
  | { readonly kind: "postgres"; readonly url: Secret };

/** Where vectors come from. */
export type EmbeddingSettings =
  /** Learned from the documents themselves. */
  | { readonly kind: "built-in" }
  | {
      readonly kind: "endpoint";
      /** Up to and including `/v1`; for Azure, up to and including the deployment. */
      readonly baseUrl: string;
      readonly apiKey: Secret;
      readonly model: string;
      /** Only for Azure with dated versions; otherwise "". */
      readonly apiVersion: string;
      /** 0: the model's default. */
      readonly dimensions: number;
    }
  | { readonly kind: "onnx"; readonly folder: string };

/** What embedding costs, for the estimates of plans. */
interface PriceSettings extends PriceTable {
  /** They are OpenAI's, and not set by the user. */
  readonly isBuiltIn: boolean;
}

const PRICES =
  "vector_store_gb_day=0.10, text-embedding-3-small=0.02, text-embedding-3-large=0.13, text-embedding-ada-002=0.10";
const PRICES_AS_OF = "July 2026, developers.openai.com/api/docs/pricing";

function readPrices(reader: SettingReader): PriceSettings {
  const own = reader.text("OPENAI_PRICES");
  const isBuiltIn = own === "" || own === PRICES;
  const asOf = reader.text("OPENAI_PRICES_AS_OF", isBuiltIn ? PRICES_AS_OF : "");
  const dollars = new Map<string, number>();
  for (const entry of (own || PRICES).split(",")) {
    const [, name, price] = /^\s*([^\s=]+)\s*=\s*(\d{1,6}(?:\.\d{1,9})?)\s*$/.exec(entry) ?? [];
    if (name !== undefined) dollars.set(name, Number(price));
    else if (entry.trim() !== "") {
      reader.problems.push(
        `OPENAI_PRICES must be names with dollars, separated by commas, e.g. ${PRICES.split(",")[0]}; '${entry.trim()}' is not.`,
      );
    }
  }
  return { dollars, asOf, isBuiltIn };
}

/** Where the crawls run that users start on the server. */
type JobPlace = "server" | "workers";

function readDatabase(reader: SettingReader, storagePath: string): DatabaseSettings {
  const url = reader.text("DATABASE_URL");
  const folder = reader.text("DATABASE_FOLDER");
  if (url && folder) reader.problems.push("Set DATABASE_URL or DATABASE_FOLDER, not both.");
  if (!url) return { kind: "sqlite", folder: folder ? resolve(folder) : storagePath };
  const { protocol } = URL.parse(url) ?? {};
  if (protocol !== "postgres:" && protocol !== "postgresql:") {
    // The message does not repeat the value: it may contain a password.
    reader.problems.push("DATABASE_URL must be an address like postgres://user:password@host:5432/database.");
  }
  return { kind: "postgres", url: new Secret(url) };
}

function readEmbeddings(reader: SettingReader): EmbeddingSettings {
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

/** How answers are produced with the embedded index. */
export interface AnswerSettings {
  /** null: answers are quotations from the search results. */
  readonly model: AnswerModel | null;
  /** Instructions for the model, before the passages; "" for the built-in ones. */
  readonly instructions: string;
  /** null: the model's default. */
  readonly temperature: number | null;
}

export interface AnswerModel {
  readonly kind: "openai" | "azure_openai";
  /** OpenAI and compatible services: up to `/v1`, "" for OpenAI itself. Azure: the resource's endpoint. */
  readonly baseUrl: string;
  /** Empty if the service needs none. */
  readonly apiKey: Secret;
  readonly organization: string;
  /** Only for Azure; otherwise "". */
  readonly apiVersion: string;
  /** For Azure, the deployment. */
  readonly name: string;
}

/** Reads the model only for the embedded backend. Other backends use the OpenAI settings themselves and write their own answers. */
function readAnswers(reader: SettingReader, kind: "embedded" | "openai" | "azure_openai"): AnswerSettings {
  const instructions = reader.text("SEARCH_DEFAULT_INSTRUCTIONS");
  const temperature = readTemperature(reader);
  const model = kind === "embedded" ? readModel(reader) : null;
  const remote = {
    embedded: "",
    openai: "OPENAI_DEFAULT_MODEL_NAME",
    azure_openai: "AZURE_OPENAI_DEFAULT_MODEL_DEPLOYMENT_NAME",
  };
  if (!model && !(remote[kind] && reader.text(remote[kind]))) {
    const reason =
      kind === "embedded" ? "no model writes answers" : `OPENAI_SERVICE_TYPE is ${kind}, and no model is named`;
    for (const name of ["SEARCH_DEFAULT_INSTRUCTIONS", "SEARCH_DEFAULT_TEMPERATURE"]) {
      if (reader.text(name)) reader.warnings.push(`${name} is set but has no effect: ${reason}.`);
    }
  }
  return { model, instructions, temperature };
}

function readTemperature(reader: SettingReader): number | null {
  const given = reader.text("SEARCH_DEFAULT_TEMPERATURE");
  if (!given) return null;
  const value = Number(given);
  if (/^\d(\.\d+)?$/.test(given) && value <= 2) return value;
  reader.problems.push(`SEARCH_DEFAULT_TEMPERATURE must be a number from 0 to 2; it is '${given}'.`);
  return null;
}

function readModel(reader: SettingReader): AnswerModel | null {
  const openAi = readOpenAi(reader);
  const azure = readAzure(reader);
  if (openAi && azure) {
    const name = "AZURE_OPENAI_DEFAULT_MODEL_DEPLOYMENT_NAME";
    reader.warnings.push(`${name} is set but has no effect: OPENAI_DEFAULT_MODEL_NAME writes the answers.`);
  }
  return openAi ?? azure;
}

const EMBEDDED = "has no effect: OPENAI_SERVICE_TYPE is embedded";

function readOpenAi(reader: SettingReader): AnswerModel | null {
  const name = reader.text("OPENAI_DEFAULT_MODEL_NAME");
  const key = reader.text("OPENAI_API_KEY");
  const baseUrl = reader.text("OPENAI_BASE_URL");
  if (name && (key || baseUrl)) {
    const organization = reader.text("OPENAI_ORGANIZATION");
    return { kind: "openai", baseUrl, apiKey: new Secret(key), organization, apiVersion: "", name };
  }
  if (key || baseUrl) {
    const set = key ? "OPENAI_API_KEY" : "OPENAI_BASE_URL";
    reader.warnings.push(`${set} is set but ${EMBEDDED}, and OPENAI_DEFAULT_MODEL_NAME names no model for answers.`);
  }
  if (name) {
    const need = "set OPENAI_API_KEY or OPENAI_BASE_URL, too, to have it write answers";
    reader.warnings.push(`OPENAI_DEFAULT_MODEL_NAME is set but has no effect: ${need}.`);
  }
  return null;
}

function readAzure(reader: SettingReader): AnswerModel | null {
  const name = reader.text("AZURE_OPENAI_DEFAULT_MODEL_DEPLOYMENT_NAME");
  const key = reader.text("AZURE_OPENAI_API_KEY");
  const baseUrl = reader.text("AZURE_OPENAI_ENDPOINT");
  if (name && key && baseUrl) {
    const apiVersion = reader.text("AZURE_OPENAI_API_VERSION", "2025-04-01-preview");
    return { kind: "azure_openai", baseUrl, apiKey: new Secret(key), organization: "", apiVersion, name };
  }
  if (key) {
    const need = "answers need AZURE_OPENAI_ENDPOINT and AZURE_OPENAI_DEFAULT_MODEL_DEPLOYMENT_NAME, too";
    reader.warnings.push(`AZURE_OPENAI_API_KEY is set but ${EMBEDDED}, and ${need}.`);
  }
  return null;
}

/** How web sites are requested, and where their state is stored. */
interface WebSettings {
  readonly contactUrl: string;
  readonly allowPrivateNetworks: boolean;
  readonly requestsPerHost: number;
  readonly hostDelayMs: number;
  readonly timeoutSeconds: number;
  /** Limit for one crawl over all hosts. */
  readonly pagesAtOnce: number;
  readonly maxBytes: number;
  readonly keepSnapshotsDays: number;
  readonly render: { readonly enabled: boolean; readonly browserPath: string };
  readonly trackingPrefixes: readonly string[];
  readonly images: {
    readonly minWidth: number;
    readonly minHeight: number;
    readonly minArea: number;
    readonly minBytes: number;
    readonly maxAspect: number;
    readonly enableSvg: boolean;
  };
  readonly checks: CheckPolicy & {
    /** How often the timer queues items that are due. */
    readonly timerSeconds: number;
    readonly itemsAtOnce: number;
    readonly keepGoneDays: number;
  };
  readonly defaultDomain: DomainId;
  readonly registry: StorePlace & { readonly tableName: string; readonly partitions: "host" | "scheme" };
  readonly queue: StorePlace;
  /** The storage account of the settings, even if neither registry nor queue uses it. */
  readonly account: StorageAccount | undefined;
}

/** database: SQLite, or PostgreSQL if DATABASE_URL is set. */
type StorePlace = { readonly kind: "database" } | { readonly kind: "azure"; readonly account: StorageAccount };

/** Like AzureAccount, but with a hidden secret. */
export type StorageAccount =
  | { readonly kind: "connection string"; readonly connectionString: Secret }
  | IdentityAccount;

const SECONDS_OF_A_YEAR = 31_536_000;

function readWebSettings(reader: SettingReader): WebSettings {
  const count = (name: string, usual: number, max: number, min = 0): number => reader.number(name, usual, { min, max });
  const goneSpacingSeconds = count("CRAWL_GONE_SPACING_SECONDS", 3600, SECONDS_OF_A_YEAR);
  return {
    contactUrl: reader.url("WEB_CONTACT_URL", "warn"),
    allowPrivateNetworks: reader.flag("WEB_ALLOW_PRIVATE_NETWORKS"),
    requestsPerHost: count("WEB_REQUESTS_PER_HOST", 4, 64, 1),
    hostDelayMs: count("WEB_HOST_DELAY_MS", 100, 3_600_000),
    pagesAtOnce: count("WEB_PAGES_AT_ONCE", 16, 256, 1),
    timeoutSeconds: count("WEB_TIMEOUT_SECONDS", 30, 3600, 1),
    maxBytes: count("WEB_MAX_MEGABYTES", 50, 512, 1) * 1024 * 1024,
    keepSnapshotsDays: count("WEB_SNAPSHOT_KEEP_DAYS", 0, 36_500),
    render: { enabled: reader.flag("WEB_RENDER"), browserPath: reader.text("WEB_BROWSER_PATH") },
    trackingPrefixes: reader
      .text("TRACKING_PARAM_PREFIXES", "utm_, gclid, fbclid, msclkid")
      .split(",")
      .map((prefix) => prefix.trim().toLowerCase())
      .filter((prefix) => prefix !== ""),
    images: {
      minWidth: count("IMAGE_MIN_WIDTH", 128, 10_000),
      minHeight: count("IMAGE_MIN_HEIGHT", 128, 10_000),
      minArea: count("IMAGE_MIN_AREA", 16_384, 100_000_000),
      minBytes: count("IMAGE_MIN_BYTES", 5000, 100_000_000),
      maxAspect: count("IMAGE_MAX_ASPECT", 6, 1000, 1),
      enableSvg: reader.flag("IMAGE_ENABLE_SVG"),
    },
    checks: {
      baseIntervalSeconds: count("CRAWL_BASE_INTERVAL_SECONDS", 86_400, SECONDS_OF_A_YEAR, 1),
      maxIntervalSeconds: count("CRAWL_MAX_INTERVAL_SECONDS", 1_209_600, SECONDS_OF_A_YEAR, 1),
      errorBackoffSeconds: count("CRAWL_ERROR_BACKOFF_BASE", 600, SECONDS_OF_A_YEAR, 1),
      goneSpacingSeconds,
      movedSpacingSeconds: count("CRAWL_MOVED_SPACING_SECONDS", goneSpacingSeconds, SECONDS_OF_A_YEAR),
      forceOnCanonicalChange: reader.choice("FORCE_REINDEX_ON_CANONICAL_CHANGE", ["true", "false"]) === "true",
      timerSeconds: count("CRAWL_TIMER_SECONDS", 60, 86_400, 1),
      itemsAtOnce: count("CRAWL_ITEMS_AT_ONCE", 4, 64, 1),
      keepGoneDays: count("REGISTRY_GONE_KEEP_DAYS", 30, 36_500),
    },
    defaultDomain: readDefaultDomain(reader),
    ...readPlaces(reader),
  };
}

function readDefaultDomain(reader: SettingReader): DomainId {
  const given = reader.text("INGEST_DEFAULT_DOMAIN", "INGEST");
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(given)) {
    reader.problems.push("INGEST_DEFAULT_DOMAIN must be 1 to 64 letters, digits, underscores or hyphens.");
  }
  return given as DomainId;
}

function readPlaces(reader: SettingReader): Pick<WebSettings, "registry" | "queue" | "account"> {
  const account = readAccount(reader);
  const place = (name: string): StorePlace => {
    const chosen = reader.choice(name, ["auto", "database", "azure"]);
    if (chosen === "azure" && !account) {
      reader.problems.push(
        `AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_URL is needed, because ${name} is azure.`,
      );
    }
    return chosen === "database" || !account ? { kind: "database" } : { kind: "azure", account };
  };
  const tableName = reader.text("REGISTRY_TABLE_NAME", "IngestItems");
  if (!/^[A-Za-z][A-Za-z0-9]{2,55}$/.test(tableName)) {
    reader.problems.push("REGISTRY_TABLE_NAME must be 3 to 56 letters and digits, beginning with a letter.");
  }
  const partitions = reader.choice("REGISTRY_PARTITION_STRATEGY", ["host", "scheme"]);
  return {
    registry: { ...place("REGISTRY_STORE"), tableName, partitions },
    queue: place("INGEST_QUEUE_STORE"),
    account,
  };
}

/**
 * A connection string with a key or signature takes precedence over an address. Without either, the machine's managed identity opens the
 * account.
 */
function readAccount(reader: SettingReader): StorageAccount | undefined {
  const connection = reader.text("AZURE_STORAGE_CONNECTION_STRING");
  const address = reader.url("AZURE_STORAGE_ACCOUNT_URL", "refuse");
  const clientId = reader.text("AZURE_MANAGED_IDENTITY_CLIENT_ID");
  const listed = connection ? endpointsIn(connection) : undefined;
  if (connection && !listed) return { kind: "connection string", connectionString: new Secret(connection) };
  if (listed) {
    if (AZURE_SERVICES.some((service) => URL.parse(listed[service])?.protocol !== "https:")) {
      reader.problems.push(
        "AZURE_STORAGE_CONNECTION_STRING has neither a key nor a signature, so its endpoints must begin with https://: the token is not sent to others.",
      );
      return undefined;
    }
    return { kind: "identity", endpoints: listed, clientId };
  }
  const url = URL.parse(address);
  const endpoints = url && endpointsBeside(url);
  if (url && !endpoints) {
    reader.problems.push("AZURE_STORAGE_ACCOUNT_URL must be as https://ACCOUNT.blob.core.windows.net.");
  }
  return endpoints ? { kind: "identity", endpoints, clientId } : undefined;
}
