import { open } from "node:fs/promises";
import { BadInputError } from "../contracts/errors.ts";
import { isErrno, readFileIfExists } from "../lib/atomic-file.ts";
import { fileStamp } from "../lib/file-stamp.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { fileIdOf } from "./files-metadata-codec.ts";
import { JsonElements, type Place, parseElement } from "./json-elements.ts";
import { toUtf8 } from "./json-file.ts";

type Entries = ReadonlyMap<string, Readonly<JsonObject>>;

/** Looks entries up by `openai_file_id`. Remembers where they are, not what they say, and looks again when the file changed. */
export interface FilesMetadataReader {
  /**
   * The entries as they are on disk, by file id; those that are not there are left out, and so are all when the file is
   * missing or damaged. The file is opened once, however many are looked up.
   */
  find(path: string, fileIds: readonly string[]): Promise<Entries>;
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
  const lookUp = async (path: string, fileIds: readonly string[]): Promise<Entries | "elsewhere"> => {
    const version = await fileStamp(path);
    let cached = cache.get(path);
    if (cached?.version !== version) {
      cached = { version, places: version === "" ? Promise.resolve(NOWHERE) : findPlaces(path) };
      cache.set(path, cached);
    }
    const { byFileId, text } = await (cached as CachedFile).places;
    const wanted = [...new Set(fileIds)].flatMap((fileId) => {
      const place = byFileId.get(fileId);
      return place ? [{ fileId, place }] : [];
    });
    const places = wanted.map(({ place }) => place);
    const entries = text ? places.map((place) => parseElement(text, place)) : await readAt(path, places);
    const found = new Map<string, JsonObject>();
    for (const [at, { fileId }] of wanted.entries()) {
      const entry = entries[at];
      if (!isJsonObject(entry) || fileIdOf(entry) !== fileId) return "elsewhere";
      found.set(fileId, entry);
    }
    return found;
  };
  return {
    async find(path, fileIds) {
      const found = await lookUp(path, fileIds);
      if (found !== "elsewhere") return found;
      // The file was replaced between the look at its version and the look into it.
      cache.delete(path);
      const again = await lookUp(path, fileIds);
      return again === "elsewhere" ? new Map() : again;
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

/** What stands at these places; nothing where there is no JSON (any more). */
async function readAt(path: string, places: readonly Place[]): Promise<unknown[]> {
  if (places.length === 0) return [];
  try {
    const file = await open(path);
    try {
      const reads = places.map(async ({ start, end }) => {
        const bytes = Buffer.alloc(end - start);
        await file.read(bytes, 0, bytes.length, start);
        return bytes;
      });
      return (await Promise.all(reads)).map((bytes) => parseElement(bytes, { start: 0, end: bytes.length }));
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof BadInputError || isErrno(error, "ENOENT")) return [];
    throw error;
  }
}
