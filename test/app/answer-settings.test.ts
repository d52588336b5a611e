// The settings of the model that writes answers are read, and half of them is reported as a mistake.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { type Config, ConfigError, readConfig } from "../../src/app/config.ts";

type Settings = Readonly<Record<string, string>>;

function modelOf(settings: Settings): Pick<Config, "warnings"> & { model: object | null } {
  const { answers, warnings } = readConfig(settings);
  const { model } = answers;
  return { model: model && { ...model, apiKey: model.apiKey.reveal() }, warnings };
}

test("any address that speaks the protocol can write answers, with a key or without", () => {
  const local = { OPENAI_DEFAULT_MODEL_NAME: "llama3.2", OPENAI_BASE_URL: "http://127.0.0.1:11434/v1" };
  const base = { kind: "openai", organization: "", apiVersion: "" };
  assert.deepEqual(modelOf(local), {
    model: { ...base, baseUrl: "http://127.0.0.1:11434/v1", apiKey: "", name: "llama3.2" },
    warnings: [],
  });
  assert.deepEqual(modelOf({ OPENAI_DEFAULT_MODEL_NAME: "gpt-5", OPENAI_API_KEY: "sk-1", OPENAI_ORGANIZATION: "o" }), {
    model: { ...base, organization: "o", baseUrl: "", apiKey: "sk-1", name: "gpt-5" },
    warnings: [],
  });
});

test("a deployment of Azure can, too", () => {
  const azure = {
    AZURE_OPENAI_ENDPOINT: "https://contoso.openai.azure.com",
    AZURE_OPENAI_API_KEY: "k",
    AZURE_OPENAI_DEFAULT_MODEL_DEPLOYMENT_NAME: "chat",
  };
  const { model, warnings } = modelOf(azure);
  assert.deepEqual(
    [model, warnings],
    [
      {
        kind: "azure_openai",
        baseUrl: "https://contoso.openai.azure.com",
        apiKey: "k",
        organization: "",
        apiVersion: "2025-04-01-preview",
        name: "chat",
      },
      [],
    ],
  );
  const both = modelOf({ ...azure, OPENAI_DEFAULT_MODEL_NAME: "m", OPENAI_API_KEY: "sk-1" });
  assert.match(both.warnings.join(), /^AZURE_OPENAI_DEFAULT_MODEL_DEPLOYMENT_NAME is set but has no effect/);
});

const HALF: readonly (readonly [Settings, RegExp])[] = [
  [{ OPENAI_API_KEY: "sk-1" }, /OPENAI_API_KEY .* OPENAI_DEFAULT_MODEL_NAME names no model/],
  [{ OPENAI_BASE_URL: "http://127.0.0.1:1/v1" }, /OPENAI_BASE_URL .* names no model/],
  [{ OPENAI_DEFAULT_MODEL_NAME: "m" }, /OPENAI_DEFAULT_MODEL_NAME .* set OPENAI_API_KEY or OPENAI_BASE_URL/],
  [{ AZURE_OPENAI_API_KEY: "k" }, /AZURE_OPENAI_API_KEY .* need AZURE_OPENAI_ENDPOINT/],
  [{ SEARCH_DEFAULT_INSTRUCTIONS: "Be brief." }, /SEARCH_DEFAULT_INSTRUCTIONS .* no model writes answers/],
  [
    { OPENAI_SERVICE_TYPE: "openai", OPENAI_API_KEY: "sk-1", SEARCH_DEFAULT_TEMPERATURE: "0" },
    /SEARCH_DEFAULT_TEMPERATURE .* OPENAI_SERVICE_TYPE is openai/,
  ],
];
for (const [settings, expected] of HALF) {
  test(`half a model writes nothing, and that is said: ${Object.keys(settings).join(", ")}`, () => {
    const { model, warnings } = modelOf(settings);
    assert.equal(model, null);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0] ?? "", expected);
  });
}

test("a temperature is a number from 0 to 2; the key is printed nowhere", () => {
  const settings = { OPENAI_DEFAULT_MODEL_NAME: "m", OPENAI_API_KEY: "sk-hidden" };
  for (const [given, value] of [
    ["0", 0],
    ["0.7", 0.7],
    ["2", 2],
    ["", null],
  ] as const) {
    assert.equal(readConfig({ ...settings, SEARCH_DEFAULT_TEMPERATURE: given }).answers.temperature, value);
  }
  for (const given of ["hot", "-1", "2.1", "1e0"]) {
    assert.throws(() => readConfig({ ...settings, SEARCH_DEFAULT_TEMPERATURE: given }), ConfigError, given);
  }
  assert.doesNotMatch(inspect(readConfig(settings), { depth: 9 }), /sk-hidden/);
});
