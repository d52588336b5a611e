import { rm } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { parseJsonBytes, toJsonText } from "../lib/json-file.ts";
import { isJsonObject } from "../lib/json-object.ts";
import type { AnswerModel, Config } from "./config.ts";
import { Secret } from "./setting-reader.ts";

/** A program on this machine that serves language models, at its default port. */
export interface LocalServer {
  readonly name: string;
  /** Up to and including `/v1`; on loopback. */
  readonly baseUrl: string;
}

const LOCAL_SERVERS: readonly LocalServer[] = [
  { name: "Ollama", baseUrl: "http://127.0.0.1:11434/v1" },
  { name: "LM Studio", baseUrl: "http://127.0.0.1:1234/v1" },
];

export interface FoundModel {
  readonly server: string;
  readonly model: string;
}

/** Who writes answers. */
export interface AnswerModelView {
  /** The model; null: answers are quotes. */
  readonly current: { readonly model: string; readonly baseUrl: string } | null;
  /** `settings`: the environment says so, which wins. `page`: it was chosen while the server ran. */
  readonly from: "settings" | "page" | "";
  /** What runs on this machine now. */
  readonly found: readonly FoundModel[];
}

/** The model that writes answers, and those on this machine that could. */
export interface AnswerModels {
  /** Asks the default ports of this machine, for a moment. */
  view(): Promise<AnswerModelView>;
  /** Only a model that is found right now; undefined: answers are quotes again. Takes effect at once, and after a restart. */
  choose(wanted: FoundModel | undefined, options?: { readonly dryRun: boolean }): Promise<AnswerModelView>;
}

const FILE = "answer-model.json";
/** Whatever listens there answers at once, or is something else. */
const ASK_MS = 500;
const MOST_MODELS = 50;
/** Models that turn texts into vectors write nothing. */
const EMBEDS = /embed|bge-|minilm|rerank/i;

interface AnswerModelParts {
  readonly config: Pick<Config, "answers" | "backend">;
  readonly folder: string;
  /** Hands the model to the backend. */
  readonly use: (model: AnswerModel | null) => Promise<void>;
  readonly servers?: readonly LocalServer[] | undefined;
}

export function openAnswerModels({ config, folder, use, servers = LOCAL_SERVERS }: AnswerModelParts): AnswerModels {
  const path = join(folder, FILE);
  const configured =
    config.backend.kind === "embedded"
      ? config.answers.model && { model: config.answers.model.name, baseUrl: config.answers.model.baseUrl }
      : { model: config.backend.model, baseUrl: "" };
  const view = async (): Promise<AnswerModelView> => {
    if (configured) return { current: configured.model ? configured : null, from: "settings", found: [] };
    const chosen = await readChosen(path);
    const current = chosen && { model: chosen.name, baseUrl: chosen.baseUrl };
    return { current, from: current ? "page" : "", found: await findModels(servers) };
  };
  return {
    view,
    async choose(wanted, { dryRun } = { dryRun: false }) {
      if (configured) {
        throw new BadInputError(
          "The settings say which model writes answers (OPENAI_DEFAULT_MODEL_NAME and the like): change them, and start the server again.",
        );
      }
      if (!wanted) {
        if (dryRun) return view();
        await rm(path, { force: true });
        await use(null);
        return view();
      }
      const server = servers.find(({ name }) => name === wanted.server);
      const found = await findModels(servers);
      if (!server || !found.some((one) => one.server === wanted.server && one.model === wanted.model)) {
        throw new NotFoundError(`No model '${wanted.model}' is served by ${wanted.server} on this machine now.`);
      }
      if (dryRun) return view();
      await writeFileAtomic(path, toJsonText({ model: wanted.model, base_url: server.baseUrl }));
      await use(toAnswerModel(wanted.model, server.baseUrl));
      return view();
    },
  };
}

/** Returns the model that was chosen; null: none, or the file says nothing that we wrote. */
export async function readChosenModel(folder: string): Promise<AnswerModel | null> {
  return readChosen(join(folder, FILE));
}

async function readChosen(path: string): Promise<AnswerModel | null> {
  const bytes = await readFileIfExists(path);
  let value: unknown;
  try {
    value = bytes && parseJsonBytes(bytes);
  } catch {
    return null;
  }
  if (!isJsonObject(value)) return null;
  const { model, base_url: baseUrl } = value;
  // Passages are sent there: an edited file must not send them to another machine.
  if (typeof model !== "string" || typeof baseUrl !== "string" || !/^http:\/\/127\.0\.0\.1:\d+\/v1$/.test(baseUrl))
    return null;
  return toAnswerModel(model, baseUrl);
}

function toAnswerModel(name: string, baseUrl: string): AnswerModel {
  return { kind: "openai", baseUrl, apiKey: new Secret(""), organization: "", apiVersion: "", name };
}

async function findModels(servers: readonly LocalServer[]): Promise<readonly FoundModel[]> {
  const found = await Promise.all(
    servers.map(async ({ name, baseUrl }) => (await modelsAt(baseUrl)).map((model) => ({ server: name, model }))),
  );
  return found.flat();
}

/** Returns none if nothing answers there, or something else. */
async function modelsAt(baseUrl: string): Promise<readonly string[]> {
  try {
    const response = await fetch(`${baseUrl}/models`, { signal: AbortSignal.timeout(ASK_MS), redirect: "error" });
    const body: unknown = response.ok ? await response.json() : undefined;
    const list = isJsonObject(body) && Array.isArray(body["data"]) ? body["data"].filter(isJsonObject) : [];
    const names = list.map(({ id }) => id).filter((id): id is string => typeof id === "string" && id.length <= 200);
    return names.filter((name) => !EMBEDS.test(name)).slice(0, MOST_MODELS);
  } catch {
    return [];
  }
}
