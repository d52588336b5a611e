import { connect } from "node:net";

/** What came back over a connection on which exactly these bytes were sent. */
export interface RawReply {
  readonly status: number;
  readonly text: string;
  readonly headers: string;
}

/** Sends bytes as they are, which no client would, and reads until the server closes the connection. */
export function sendRaw(url: string, bytes: string | Buffer): Promise<RawReply> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      // The server answered and hung up while we were still sending: what it said is what counts.
      if (chunks.length === 0) reject(error);
    });
    socket.on("close", () => resolve(readReply(Buffer.concat(chunks).toString("utf8"))));
  });
}

function readReply(answer: string): RawReply {
  const end = answer.indexOf("\r\n\r\n");
  const headers = answer.slice(0, end);
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(headers)?.[1] ?? 0), headers, text: answer.slice(end + 4) };
}
