import assert from "node:assert/strict";
import { constants, createPrivateKey, randomUUID, sign } from "node:crypto";
import { after } from "node:test";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../src/sandbox/start-sandbox.ts";

export type JsonObject = Record<string, unknown>;

/** A sandbox that is stopped when the test file ends. */
export async function sandboxForTests(options: SandboxOptions = { seed: "empty" }): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  after(() => sandbox.stop());
  return sandbox;
}

export interface AssertionChanges {
  alg?: "PS256" | "RS256";
  claims?: JsonObject;
  header?: JsonObject;
  signWithPem?: string;
}

/** A client assertion made by hand, so that every part of it can be made wrong. */
export function makeAssertion(sandbox: Sandbox, changes: AssertionChanges = {}): string {
  const alg = changes.alg ?? "PS256";
  const hex = alg === "PS256" ? sandbox.certificateThumbprintSha256 : sandbox.certificateThumbprint;
  const thumbprint = { [alg === "PS256" ? "x5t#S256" : "x5t"]: Buffer.from(hex, "hex").toString("base64url") };
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    aud: sandbox.tokenEndpoint,
    iss: sandbox.clientId,
    sub: sandbox.clientId,
    jti: randomUUID(),
    nbf: now,
    exp: now + 600,
    ...changes.claims,
  };
  const signed = [{ alg, typ: "JWT", ...thumbprint, ...changes.header }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const key = createPrivateKey(changes.signWithPem ?? sandbox.certificatePem);
  const options = alg === "PS256" ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } : key;
  return `${signed}.${sign("sha256", Buffer.from(signed), options).toString("base64url")}`;
}

export async function requestToken(sandbox: Sandbox, changes: Record<string, string | undefined> = {}) {
  const fields = {
    client_id: sandbox.clientId,
    scope: `${sandbox.url}/.default`,
    grant_type: "client_credentials",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: makeAssertion(sandbox),
    ...changes,
  };
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) body.set(name, value);
  const response = await fetch(sandbox.tokenEndpoint, { method: "POST", body });
  return { status: response.status, body: (await response.json()) as JsonObject };
}

export async function accessToken(sandbox: Sandbox, changes: Record<string, string> = {}): Promise<string> {
  const { status, body } = await requestToken(sandbox, changes);
  assert.equal(status, 200);
  return String(body["access_token"]);
}

/** Reads the API as the product does: nometadata, with a token. Takes paths below the host. */
export async function apiOf(sandbox: Sandbox) {
  const token = await accessToken(sandbox);
  return (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(path.startsWith("http") ? path : sandbox.url + path, {
      headers: { Authorization: `Bearer ${token}`, Accept: "application/json;odata=nometadata", ...headers },
    });
}

/** Any method with a JSON body, as the product sends it. */
export async function senderOf(sandbox: Sandbox, scope = `${sandbox.url}/.default`) {
  const token = await accessToken(sandbox, { scope });
  return (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(path.startsWith("http") ? path : sandbox.url + path, {
      method,
      redirect: "manual",
      headers: {
        Authorization: `Bearer ${token}`,
        Accept: "application/json;odata=nometadata",
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
}

export async function jsonOf(response: Response, status = 200): Promise<JsonObject> {
  const text = await response.text();
  assert.equal(response.status, status, text);
  return JSON.parse(text) as JsonObject;
}

/** The rows of a nometadata collection. */
export async function rowsOf(response: Response): Promise<JsonObject[]> {
  return (await jsonOf(response))["value"] as JsonObject[];
}

/** Status, code and text of an OData error in the nometadata form. */
export async function errorOf(response: Response): Promise<{ status: number; code: string; message: string }> {
  const body = (await response.json()) as { "odata.error": { code: string; message: { lang: string; value: string } } };
  const { code, message } = body["odata.error"];
  assert.equal(message.lang, "en-US");
  return { status: response.status, code, message: message.value };
}

export async function control(sandbox: Sandbox, method: string, path: string, body?: unknown) {
  const response = await fetch(`${sandbox.url}/_sandbox/${path}`, {
    method,
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
}
