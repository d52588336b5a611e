import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { basename } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import busboy from "busboy";
import { badRequest, WireError } from "./wire-error.ts";

export interface FormRules {
  /** The one file the form must have. */
  readonly fileField: string;
  readonly maxBytes: number;
  /** Other fields it may have. */
  readonly fields: readonly string[];
  /** Where the file is written; nothing is left there unless all of it is right. */
  readonly path: string;
}

export interface ReceivedFile {
  readonly filename: string;
  readonly bytes: number;
  readonly sha256: string;
}

interface Form {
  readonly fields: ReadonlyMap<string, string>;
  readonly file: ReceivedFile;
}

/** Takes in `multipart/form-data` without ever holding the file in memory; `use` is what becomes of it. */
export async function receiveForm<T>(request: Request, rules: FormRules, use: (form: Form) => Promise<T>): Promise<T> {
  try {
    const { fields, file } = await readForm(request, rules);
    const unknown = [...fields.keys()].find((name) => !rules.fields.includes(name) && name !== rules.fileField);
    if (unknown !== undefined) throw badRequest(`Unrecognized request argument supplied: ${unknown}`, unknown);
    if (!file) throw badRequest(`Missing required parameter: '${rules.fileField}'.`, rules.fileField);
    if (file.tooLarge) {
      throw new WireError(413, `File is too large: at most ${rules.maxBytes} bytes are accepted.`, rules.fileField);
    }
    if (file.bytes === 0) throw badRequest("File is empty.", rules.fileField);
    return await use({ fields, file });
  } catch (error) {
    await rm(rules.path, { force: true });
    throw error;
  }
}

/** A name without the folders that some clients send along. */
export function lastPart(filename: string): string {
  return basename(filename.replaceAll("\\", "/")) || "upload";
}

type Received = ReceivedFile & { readonly tooLarge: boolean };

async function readForm(
  request: Request,
  rules: FormRules,
): Promise<{ fields: ReadonlyMap<string, string>; file: Received | undefined }> {
  const form = openForm(request, rules.maxBytes);
  const fields = new Map<string, string>();
  let file: Promise<Received> | undefined;
  form.on("field", (name, value) => fields.set(name, value));
  form.on("file", (name, stream, { filename }) => {
    if (name !== rules.fileField) fields.set(name, filename);
    if (name !== rules.fileField || file) stream.resume();
    else file = receive(stream, rules.path, lastPart(filename ?? ""));
    file?.catch((error: Error) => form.destroy(error));
  });
  if (!request.body) throw badRequest("Missing request body.");
  try {
    await pipeline(Readable.fromWeb(request.body as ReadableStream), form);
  } catch (error) {
    await file?.catch(() => undefined);
    throw Object.assign(badRequest("The multipart body ended early or is malformed."), { cause: error });
  }
  return { fields, file: await file };
}

function openForm(request: Request, maxBytes: number): busboy.Busboy {
  const headers = { "content-type": request.headers.get("content-type") ?? "" };
  try {
    return busboy({ headers, defParamCharset: "utf8", limits: { fileSize: maxBytes, fields: 20, files: 2 } });
  } catch (cause) {
    throw Object.assign(badRequest("Expected a body of type multipart/form-data."), { cause });
  }
}

async function receive(stream: Readable, path: string, filename: string): Promise<Received> {
  const hash = createHash("sha256");
  let bytes = 0;
  let tooLarge = false;
  stream.on("limit", () => {
    tooLarge = true;
  });
  const measure = new Transform({
    transform(block: Buffer, _encoding, done) {
      bytes += block.length;
      hash.update(block);
      done(null, block);
    },
  });
  await pipeline(stream, measure, createWriteStream(path, { flush: true }));
  return { filename, bytes, sha256: hash.digest("hex"), tooLarge };
}
