import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { isDropped } from "./faults/with-faults.ts";

export interface ServedWire {
  readonly url: string;
  close(): Promise<void>;
}

/** The wire protocol behind a real port of this machine. A response that is to be lost breaks the connection. */
export async function serveWire(wire: (request: Request) => Promise<Response>): Promise<ServedWire> {
  const listener = getRequestListener(async (request, { incoming }) => {
    const response = await wire(request);
    if (isDropped(response)) incoming.socket?.destroy();
    return response;
  });
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
