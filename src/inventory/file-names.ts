import type OpenAI from "openai";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { askBackend, isMissing } from "./ask-backend.ts";
import { createFiles } from "./files.ts";

/** The names of files by their ids, for one request. */
export interface FileNames {
  /** "" for a file that is gone. */
  of(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** So many are asked for one by one; from then on reading the whole list is cheaper. */
const ONE_BY_ONE = 64;
const AT_ONCE = 8;
/** Beyond this the list is not kept: what is missing from it is asked for one by one. */
const MOST_KEPT = 200_000;
const PAGE_SIZE = 10_000;

export function createFileNames(client: OpenAI): FileNames {
  const known = new Map<string, string>();
  let asked = 0;
  let readList = false;
  return {
    async of(ids) {
      let unknown = ids.filter((id) => !known.has(id));
      if (asked + unknown.length > ONE_BY_ONE && !readList) {
        readList = true;
        await learnAll(client, known);
        unknown = unknown.filter((id) => !known.has(id));
      }
      asked += unknown.length;
      await forEachConcurrent(unknown, AT_ONCE, async (id) => {
        known.set(id, await nameOf(client, id));
      });
      return new Map(ids.map((id) => [id, known.get(id) ?? ""]));
    },
  };
}

async function learnAll(client: OpenAI, known: Map<string, string>): Promise<void> {
  for await (const page of createFiles(client).pages({ order: "desc", pageSize: PAGE_SIZE })) {
    for (const { id, filename } of page) known.set(id, filename);
    if (known.size >= MOST_KEPT) return;
  }
}

async function nameOf(client: OpenAI, id: string): Promise<string> {
  try {
    return (await askBackend({ what: `get file '${id}'`, missing: "" }, () => client.files.retrieve(id))).filename;
  } catch (error) {
    if (isMissing(error)) return "";
    throw error;
  }
}
