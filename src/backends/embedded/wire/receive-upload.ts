import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { basename } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import busboy from "busboy";
import type { FileId } from "../../../contracts/ids.ts";
import { randomId } from "../../../index/sqlite/random-id.ts";
import type { UploadedFile } from "../catalog.ts";
import type { FileShelf } from "../file-shelf.ts";
import { asOneOf } from "./read-fields.ts";
import { badRequest, WireError } from "./wire-error.ts";

export const PURPOSES = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"] as const;
const MAX_FILE_BYTES = 512 * 1024 * 1024;

interface Received {
  readonly filename: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly tooLarge: boolean;
}

/** Takes in `multipart/form-data` without ever holding the file in memory. Nothing is left behind unless all of it is right. */
export async function receiveUpload(request: Request, shelf: FileShelf): Promise<UploadedFile> {
  const id = randomId("file-") as FileId;
  const path = await shelf.incomingPath(id);
  try {
    const { fields, file } = await readForm(request, path);
    const upload = checkForm(id, fields, file);
    await shelf.keep(upload);
    return upload;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

function checkForm(id: FileId, fields: ReadonlyMap<string, string>, file: Received | undefined): UploadedFile {
  if (!file) throw badRequest("Missing required parameter: 'file'.", "file");
  if (!fields.has("purpose")) throw badRequest("Missing required parameter: 'purpose'.", "purpose");
  const purpose = asOneOf(fields.get("purpose"), "purpose", PURPOSES);
  const expiry = [...fields.keys()].find((name) => name.startsWith("expires_after"));
  if (expiry !== undefined)
    throw badRequest("The embedded backend does not expire files: leave out 'expires_after'.", expiry);
  if (file.tooLarge)
    throw new WireError(413, `File is too large: at most ${MAX_FILE_BYTES} bytes are accepted.`, "file");
  if (file.bytes === 0) throw badRequest("File is empty.", "file");
  const { filename, bytes, sha256 } = file;
  return { id, filename, purpose, bytes, sha256, createdAt: Math.floor(Date.now() / 1000) };
}

async function readForm(
  request: Request,
  path: string,
): Promise<{ fields: Map<string, string>; file: Received | undefined }> {
  const form = openForm(request);
  const fields = new Map<string, string>();
  let file: Promise<Received> | undefined;
  form.on("field", (name, value) => fields.set(name, value));
  form.on("file", (name, stream, { filename }) => {
    if (name !== "file" || file) stream.resume();
    else file = receive(stream, path, basename(filename.replaceAll("\\", "/")) || "upload");
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

function openForm(request: Request): busboy.Busboy {
  const headers = { "content-type": request.headers.get("content-type") ?? "" };
  try {
    return busboy({ headers, defParamCharset: "utf8", limits: { fileSize: MAX_FILE_BYTES, fields: 20 } });
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
    transform(part: Buffer, _encoding, done) {
      bytes += part.length;
      hash.update(part);
      done(null, part);
    },
  });
  await pipeline(stream, measure, createWriteStream(path));
  return { filename, bytes, sha256: hash.digest("hex"), tooLarge };
}
