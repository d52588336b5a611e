import { Secret } from "./secret.ts";
import type { SettingReader } from "./setting-reader.ts";

/** How answers come about where the index is ours. */
export interface AnswerSettings {
  /** null: answers are quoted from what was found. */
  readonly model: AnswerModel | null;
  /** What the model is told before the passages; "" for our own words. */
  readonly instructions: string;
  /** null: the model's own. */
  readonly temperature: number | null;
}

export interface AnswerModel {
  readonly kind: "openai" | "azure_openai";
  /** OpenAI and its like: up to `/v1`, "" for OpenAI itself. Azure: the resource's endpoint. */
  readonly baseUrl: string;
  /** Empty for an address that wants none. */
  readonly apiKey: Secret;
  readonly organization: string;
  /** "" but for Azure. */
  readonly apiVersion: string;
  /** Of Azure, the deployment. */
  readonly name: string;
}

/** With another backend the settings of OpenAI are that backend's, and answers are its business. */
export function readAnswers(reader: SettingReader, kind: "embedded" | "openai" | "azure_openai"): AnswerSettings {
  const instructions = reader.text("SEARCH_DEFAULT_INSTRUCTIONS");
  const temperature = readTemperature(reader);
  const model = kind === "embedded" ? readModel(reader) : null;
  if (!model) {
    const reason = kind === "embedded" ? "no model writes answers" : `OPENAI_SERVICE_TYPE is ${kind}`;
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
