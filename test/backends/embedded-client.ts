import OpenAI, { toFile } from "openai";
import type { EmbeddedBackend } from "../../src/backends/embedded/embedded-backend.ts";

/** The official client, in-process. */
export function clientOf(backend: EmbeddedBackend, baseURL = "http://backend.invalid/v1"): OpenAI {
  const fetch = (url: string | URL | Request, init?: RequestInit): Promise<Response> =>
    backend.wire(new Request(url, init));
  return new OpenAI({ apiKey: "anything", baseURL, maxRetries: 0, fetch });
}

export async function upload(client: OpenAI, name: string, text: string): Promise<string> {
  const file = await client.files.create({ file: await toFile(Buffer.from(text), name), purpose: "assistants" });
  return file.id;
}

/** A plain request, for what the client cannot be made to send. */
export async function ask(
  backend: EmbeddedBackend,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly headers: Headers; readonly json: Record<string, unknown> }> {
  const init =
    body === undefined ? { method } : { method, body: typeof body === "string" ? body : JSON.stringify(body) };
  const response = await backend.wire(new Request(`http://backend.invalid${path}`, init));
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Record<string, unknown>,
  };
}
