import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: { readonly model: string; readonly input: string[]; readonly dimensions?: number };
}

/** What to do with the n-th request, from 0; undefined: answer it. */
export type Misbehaviour = (asked: Asked, n: number, response: ServerResponse) => boolean | undefined;

export interface EmbeddingsServer {
  readonly baseUrl: string;
  readonly asked: Asked[];
  close(): Promise<void>;
}

/** A real embeddings endpoint on loopback: vectors tell the length and first letter of their text. `misbehave` may answer instead. */
export async function startEmbeddings(misbehave: Misbehaviour = () => undefined): Promise<EmbeddingsServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += String(part);
    const order: Asked = { path: request.url ?? "", headers: request.headers, body: JSON.parse(text) };
    asked.push(order);
    if (misbehave(order, asked.length - 1, response)) return;
    answer(response, 200, { object: "list", model: order.body.model, data: vectorsFor(order.body.input).reverse() });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function vectorsFor(input: readonly string[]): { object: string; index: number; embedding: number[] }[] {
  return input.map((text, index) => ({
    object: "embedding",
    index,
    embedding: [text.length, text.charCodeAt(0), 0],
  }));
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): true {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  return true;
}
