import { once } from "node:events";
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** What becomes of one answer. After the bytes it is cut, or nothing more comes; none at all for 0. */
export type LineFault =
  | { readonly status: number }
  | { readonly cutAfterBytes: number }
  | { readonly hangAfterBytes: number; tell(): void };

/** A server between a source and its service that breaks what it is told to break. */
export class FaultyLine {
  readonly #upstream: string;
  readonly #server = createServer((incoming, outgoing) => {
    this.#pass(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
  });
  /** undefined: nothing is wrong with this one. */
  faultOf: (url: URL) => LineFault | undefined = () => undefined;
  /** Changes what is asked. */
  rewrite: (url: URL) => void = () => undefined;

  private constructor(upstream: string) {
    this.#upstream = upstream;
  }

  static async start(upstream: string): Promise<FaultyLine> {
    const line = new FaultyLine(upstream);
    line.#server.listen(0, "127.0.0.1");
    await once(line.#server, "listening");
    return line;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "/", this.#upstream);
    const fault = this.faultOf(url);
    if (fault && "status" in fault) return void outgoing.writeHead(fault.status).end();
    this.rewrite(url);
    const { host: _, ...headers } = incoming.headers;
    const asked = await ask(url, incoming, headers);
    // Azurite says 412 of a blob that is not there when there is a condition, the service says 404 (Azure/Azurite#2751).
    const { "if-match": __, ...unconditional } = headers;
    const again = asked.statusCode === 412 ? await ask(url, incoming, unconditional) : asked;
    const answer = again.statusCode === 404 ? again : asked;
    const body = await buffer(answer);
    const { "transfer-encoding": ___, ...told } = answer.headers;
    outgoing.writeHead(answer.statusCode ?? 500, { ...told, "content-length": body.length });
    if (!fault) return void outgoing.end(body);
    const isCut = "cutAfterBytes" in fault;
    const part = body.subarray(0, isCut ? fault.cutAfterBytes : fault.hangAfterBytes);
    if (part.length > 0) await new Promise<unknown>((resolve) => outgoing.write(part, resolve));
    if (isCut) outgoing.destroy();
    else fault.tell();
  }
}

async function ask(url: URL, incoming: IncomingMessage, headers: OutgoingHttpHeaders): Promise<IncomingMessage> {
  const asking = request(url, { method: incoming.method ?? "GET", headers });
  incoming.pipe(asking);
  const [answer] = (await once(asking, "response")) as [IncomingMessage];
  return answer;
}
