import { open } from "node:fs/promises";
import { BadInputError } from "../contracts/errors.ts";
import { isErrno, readFileIfExists } from "../lib/atomic-file.ts";
import { fileStamp } from "../lib/file-stamp.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { fileIdOf } from "./files-metadata-codec.ts";
import { JsonElements, type Place, parseElement } from "./json-elements.ts";
import { toUtf8 } from "./json-file.ts";

/** Looks entries up by `openai_file_id`. Remembers where they are, not what they say, and looks again when the file changed. */
export interface FilesMetadataReader {
  /** The entry as it is on disk; undefined when there is none, or the file is missing or damaged. */
  find(path: string, fileId: string): Promise<Readonly<JsonObject> | undefined>;
}

interface Places {
  readonly byFileId: ReadonlyMap<string, Place>;
  /** The text the places are in, where it is not the file as it is (UTF-16, a byte order mark). */
  readonly text: Buffer | undefined;
}

interface CachedFile {
  readonly version: string;
  readonly places: Promise<Places>;
}

const NOWHERE: Places = { byFileId: new Map(), text: undefined };

export function createFilesMetadataReader(): FilesMetadataReader {
  const cache = new Map<string, CachedFile>();
  const lookUp = async (path: string, fileId: string): Promise<JsonObject | undefined | "elsewhere"> => {
    const version = await fileStamp(path);
    let cached = cache.get(path);
    if (cached?.version !== version) {
      cached = { version, places: version === "" ? Promise.resolve(NOWHERE) : findPlaces(path) };
      cache.set(path, cached);
    }
    const { byFileId, text } = await (cached as CachedFile).places;
    const place = byFileId.get(fileId);
    if (!place) return undefined;
    const entry = text ? parseElement(text, place) : await readAt(path, place);
    return isJsonObject(entry) && fileIdOf(entry) === fileId ? entry : "elsewhere";
  };
  return {
    async find(path, fileId) {
      const found = await lookUp(path, fileId);
      if (found !== "elsewhere") return found;
      // The file was replaced between the look at its version and the look into it.
      cache.delete(path);
      const again = await lookUp(path, fileId);
      return again === "elsewhere" ? undefined : again;
    },
  };
}

async function findPlaces(path: string): Promise<Places> {
  const bytes = await readFileIfExists(path);
  if (!bytes) return NOWHERE;
  const byFileId = new Map<string, Place>();
  try {
    const text = toUtf8(bytes);
    const elements = await JsonElements.find(text);
    await elements.visit((entry, index) => {
      if (fileIdOf(entry) !== "") byFileId.set(fileIdOf(entry), elements.place(index));
    });
    return { byFileId, text: text === bytes ? undefined : text };
  } catch (error) {
    if (error instanceof BadInputError) return NOWHERE;
    throw error;
  }
}

/** undefined when there is no JSON at this place (any more). */
async function readAt(path: string, { start, end }: Place): Promise<unknown> {
  const bytes = Buffer.alloc(end - start);
  try {
    const file = await open(path);
    try {
      await file.read(bytes, 0, bytes.length, start);
    } finally {
      await file.close();
    }
    return parseElement(bytes, { start: 0, end: bytes.length });
  } catch (error) {
    if (error instanceof BadInputError || isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}
