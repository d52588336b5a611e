import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type OpenAI from "openai";
import { clientOf, type OpenHouse, openBackend, sqliteHouse, upload } from "./embedded-fixture.ts";
import { serveWire } from "./embedded-serve.ts";
import { checkingFetch } from "./wire-schemas.ts";

export const MODEL = "lockstep-extractive";

/** A backend behind a real port that can be opened anew. Every answer is checked against the published schemas. */
export interface AnswersStage {
  readonly folder: string;
  readonly client: OpenAI;
  /** A vector store with these files. */
  fill(files: Readonly<Record<string, string>>, attributes?: Readonly<Record<string, string>>): Promise<string>;
  /** A plain request, for what the client cannot be made to send. */
  ask(method: string, path: string, body?: unknown): Promise<{ status: number; json: Record<string, unknown> }>;
  /** The same storage in a new process would see the same. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export async function answersStage(openStores: OpenHouse = sqliteHouse): Promise<AnswersStage> {
  const folder = await mkdtemp(join(tmpdir(), "answers-"));
  const open = async (): ReturnType<typeof openBackend> =>
    openBackend(await openStores(join(folder, "index")), join(folder, "files"));
  let backend = await open();
  const served = await serveWire((request) => backend.wire(request));
  const client = clientOf(served);
  return {
    folder,
    client,
    fill: (files, attributes) => fillStore(client, files, attributes),
    async ask(method, path, body) {
      const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
      const response = await checkingFetch(`${served.url}/v1${path}`, init);
      return { status: response.status, json: (await response.json()) as Record<string, unknown> };
    },
    async restart() {
      await backend.close();
      backend = await open();
    },
    async close() {
      await served.close();
      await backend.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function fillStore(
  client: OpenAI,
  files: Readonly<Record<string, string>>,
  attributes: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { id } = await client.vectorStores.create({ name: "answers" });
  for (const [name, text] of Object.entries(files)) {
    const file_id = await upload(client, name, text);
    const done = await client.vectorStores.files.createAndPoll(id, { file_id, attributes });
    if (done.status !== "completed") throw new Error(`attach ${name}: ${done.last_error?.message}`);
  }
  return id;
}

export const TRAVEL = `# Travel policy

## Hotels

The limit for a hotel night is 145 euros including breakfast and city tax.
In Copenhagen, London, Paris and Zurich the limit is 190 euros.

## Trains

Trains are preferred below six hours. First class is allowed from three hours on.
`;
export const CARS = "# Company cars\n\nCars are washed every week. The key of the garage hangs at the reception.\n";
