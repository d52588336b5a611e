import type { Readable } from "node:stream";
import busboy from "busboy";
import { isJsonObject } from "../../../lib/json-object.ts";

/** A body that had to be read to know its model. Audio of 25 MB, the most a service takes, fits. */
const MAX_BYTES = 32 * 1024 * 1024;
const WITH_DEPLOYMENT = /^\/(chat\/completions|completions|embeddings|audio\/[^/]+|images\/[^/]+)$/;
const DEPLOYMENT = /^\/deployments\/([^/]+)(\/.+)$/;

export interface Routed {
  readonly path: string;
  /** undefined: the request's own, not read. */
  readonly body?: Buffer;
}

/** Why a request cannot be passed on, for the client. */
export interface Unroutable {
  readonly status: 400 | 413;
  readonly message: string;
  readonly param: string | null;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly contentType: string;
  readonly body: Readable | null;
}

/**
 * Azure's dated versions have the model in the path, all others in the body, and clients of either kind are served. Only
 * where the two differ is a body read, because its model must be known or told before the first byte is sent on.
 */
export async function withDeployment(
  asked: Asked,
  service: { readonly deployments: boolean; readonly model: string },
): Promise<Routed | Unroutable> {
  const named = DEPLOYMENT.exec(asked.path);
  if (service.deployments) {
    if (named || asked.method !== "POST" || !WITH_DEPLOYMENT.test(asked.path)) return { path: asked.path };
    return await findDeployment(asked, service.model);
  }
  if (!named) return { path: asked.path };
  const [, deployment = "", path = ""] = named;
  if (!asked.body || !/json/i.test(asked.contentType)) return { path };
  const body = await readBounded(asked.body);
  if (!body) return TOO_LARGE;
  return { path, body: withModel(body, decodeURIComponent(deployment)) };
}

const TOO_LARGE: Unroutable = {
  status: 413,
  message: `The body is larger than ${MAX_BYTES} bytes: send it to deployments/{model}/…, where it need not be read to find its model.`,
  param: null,
};

async function findDeployment({ path, body, contentType }: Asked, fallback: string): Promise<Routed | Unroutable> {
  const bytes = body ? await readBounded(body) : Buffer.alloc(0);
  if (!bytes) return TOO_LARGE;
  const model = (await modelIn(bytes, contentType)) || fallback;
  if (!model) return { status: 400, message: "Missing required parameter: 'model'.", param: "model" };
  return { path: `/deployments/${encodeURIComponent(model)}${path}`, body: bytes };
}

async function readBounded(body: Readable): Promise<Buffer | undefined> {
  const blocks: Buffer[] = [];
  let length = 0;
  for await (const block of body as AsyncIterable<Uint8Array>) {
    length += block.byteLength;
    if (length > MAX_BYTES) return undefined;
    blocks.push(Buffer.from(block));
  }
  return Buffer.concat(blocks);
}

async function modelIn(body: Buffer, contentType: string): Promise<string> {
  if (/^multipart\/form-data/i.test(contentType)) return modelInForm(body, contentType);
  const model = parse(body)?.["model"];
  return typeof model === "string" ? model : "";
}

/** "" when the form has none, or is none: then the service says what is wrong with it. */
async function modelInForm(body: Buffer, contentType: string): Promise<string> {
  try {
    const form = busboy({ headers: { "content-type": contentType } });
    return await new Promise<string>((resolve, reject) => {
      let model = "";
      form.on("field", (name, value) => {
        if (name === "model") model = value;
      });
      form.on("file", (_name, stream) => stream.resume());
      form.on("close", () => resolve(model));
      form.on("error", reject);
      form.end(body);
    });
  } catch {
    return "";
  }
}

/** The path's model wins, as it does at Azure. */
function withModel(body: Buffer, model: string): Buffer {
  const fields = parse(body);
  return !fields || fields["model"] === model ? body : Buffer.from(JSON.stringify({ ...fields, model }));
}

function parse(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
