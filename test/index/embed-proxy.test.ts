// The proxy settings of the environment apply to an embeddings service.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, test } from "node:test";
import { postEmbeddings } from "../../src/index/embedding/http-embedder.ts";
import { type EmbeddingsServer, startEmbeddings } from "./embeddings-service.ts";

let service: EmbeddingsServer;
const asked: string[] = [];
/** Whichever host it is asked for, it leads to the service. */
const proxy = createServer((incoming, outgoing) => {
  asked.push(URL.parse(incoming.url ?? "")?.host ?? "");
  const { method, headers } = incoming;
  const onwards = request(`${service.baseUrl}/embeddings`, { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(outgoing);
  });
  incoming.pipe(onwards);
});
proxy.on("connect", (incoming, socket) => {
  asked.push(incoming.url ?? "");
  const onwards = connect(Number(new URL(service.baseUrl).port), "127.0.0.1", () => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    onwards.pipe(socket).pipe(onwards);
  });
  for (const one of [onwards, socket]) one.on("error", () => undefined);
});

before(async () => {
  service = await startEmbeddings();
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  process.env["HTTP_PROXY"] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  process.env["NO_PROXY"] = "internal.invalid";
});
after(async () => {
  await service.close();
  proxy.closeAllConnections();
  proxy.close();
});

function embedAt(baseUrl: string): Promise<Float32Array[]> {
  const refuse = async (): Promise<void> => {
    throw new Error("it did not answer at once");
  };
  const order = { texts: ["abc"], dimensions: 3, requested: 0 };
  return postEmbeddings({ baseUrl, apiKey: "", model: "small", apiVersion: "", wait: refuse }, order);
}

test("an embeddings service is reached through the proxy of the environment", async () => {
  assert.equal((await embedAt("http://embeddings.invalid/v1")).length, 1);
  assert.deepEqual(
    asked.map((host) => host.replace(/:80$/, "")),
    ["embeddings.invalid"],
  );
});

test("one on this machine, or one that NO_PROXY names, is asked directly", async () => {
  asked.length = 0;
  assert.equal((await embedAt(service.baseUrl)).length, 1);
  await assert.rejects(embedAt("http://internal.invalid/v1"), /did not answer at once/);
  assert.deepEqual(asked, []);
});
