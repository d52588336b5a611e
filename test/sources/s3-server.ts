import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { BucketSettings } from "../../src/sources/s3/open-bucket.ts";
import type { ObjectRules } from "../../src/sources/tree/create-object-tree.ts";

interface Stored {
  readonly body: Buffer;
  readonly etag: string;
  readonly storageClass: string;
  /** What RestoreStatus holds, as XML. */
  readonly restore: string;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** As much of S3 as is read here, in memory and on loopback: pages of a thousand, encoded keys, conditions, ranges, archives. */
export class S3Server {
  readonly objects = new Map<string, Stored>();
  readonly requests: Pick<IncomingMessage, "url" | "headers">[] = [];
  /** Answers in place of the server, once each, in order; undefined: the server itself. */
  readonly faults: (Answer | undefined)[] = [];
  /** Whose signed requests are heard; "": anybody's. Whether the signature is right is another server's business. */
  accessKey = "";
  /** The only one there is. */
  bucket = "box";
  readonly #server = createServer((request, response) => this.#take(request, response));

  static async start(): Promise<S3Server> {
    const server = new S3Server();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get config(): BucketSettings & ObjectRules {
    return {
      bucket: "box",
      endpoint: this.endpoint,
      region: "us-east-1",
      prefix: "",
      credential: "BOX",
      include: [],
      exclude: [],
      hidden: false,
      maxFileBytes: 1024 * 1024,
    };
  }

  put(key: string, text: string, { storageClass = "STANDARD", restore = "" } = {}): void {
    const body = Buffer.from(text);
    this.objects.set(key, { body, etag: createHash("md5").update(body).digest("hex"), storageClass, restore });
  }

  /** Keys that were read, in order. */
  get reads(): readonly string[] {
    const paths = this.requests.map(({ url = "" }) => new URL(url, "http://host").pathname);
    return paths.filter((path) => path !== "/box").map((path) => decodeURIComponent(path.slice("/box/".length)));
  }

  #take(request: IncomingMessage, response: ServerResponse): unknown {
    const { url = "", headers } = request;
    this.requests.push({ url, headers });
    const fault = this.faults.shift();
    if (fault) return fault(request, response);
    const refusal = this.#refuse(headers.authorization ?? "");
    if (refusal) return sendError(response, 403, refusal);
    // Not by URL, which takes steps.
    const [path = "", query = ""] = url.split("?");
    const [, bucket = "", ...names] = path.split("/");
    if (bucket !== this.bucket) return sendError(response, 404, "NoSuchBucket");
    const key = decodeURIComponent(names.join("/"));
    return key === "" ? this.#list(new URLSearchParams(query), response) : this.#get(key, headers, response);
  }

  #refuse(authorization: string): string {
    if (this.accessKey === "") return "";
    if (authorization === "") return "AccessDenied";
    return authorization.includes(`Credential=${this.accessKey}/`) ? "" : "InvalidAccessKeyId";
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const after = Buffer.from(query.get("continuation-token") ?? "", "base64").toString();
    const isEncoded = query.get("encoding-type") === "url";
    const write = (key: string): string => (isEncoded ? new URLSearchParams({ key }).toString().slice(4) : inXml(key));
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(query.get("prefix") ?? "") && key > after)
      .sort();
    const page = keys.slice(0, Math.min(1000, Number(query.get("max-keys") ?? 1000)));
    const isTruncated = page.length < keys.length;
    const next = Buffer.from(page.at(-1) ?? "").toString("base64");
    const contents = page.map((key) => {
      const { body, etag, storageClass, restore } = this.objects.get(key) as Stored;
      return `<Contents><Key>${write(key)}</Key><LastModified>2024-05-01T10:00:00.000Z</LastModified><ETag>&#34;${etag}&#34;</ETag><Size>${body.length}</Size><StorageClass>${storageClass}</StorageClass>${restore && `<RestoreStatus>${restore}</RestoreStatus>`}</Contents>`;
    });
    send(
      response,
      200,
      `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>box</Name><IsTruncated>${isTruncated}</IsTruncated>${isEncoded ? "<EncodingType>url</EncodingType>" : ""}${isTruncated ? `<NextContinuationToken>${next}</NextContinuationToken>` : ""}${contents.join("")}</ListBucketResult>`,
    );
  }

  #get(key: string, headers: IncomingMessage["headers"], response: ServerResponse): unknown {
    const object = this.objects.get(key);
    if (!object) return sendError(response, 404, "NoSuchKey");
    const etag = `"${object.etag}"`;
    if (headers["if-match"] !== undefined && headers["if-match"] !== etag) {
      return sendError(response, 412, "PreconditionFailed");
    }
    if (object.storageClass !== "STANDARD" && !object.restore) return sendError(response, 403, "InvalidObjectState");
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
    const body = object.body.subarray(from);
    return response.writeHead(from > 0 ? 206 : 200, { etag, "content-length": body.length }).end(body);
  }
}

export function sendError(response: ServerResponse, status: number, code: string, headers = {}): void {
  send(response, status, `<Error><Code>${code}</Code><Message>what it says</Message></Error>`, headers);
}

export function send(response: ServerResponse, status: number, xml: string, headers = {}): void {
  const text = `<?xml version="1.0" encoding="UTF-8"?>\n${xml}`;
  response.writeHead(status, { "content-type": "application/xml", ...headers }).end(text);
}

function inXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
