import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DomainId, ItemId, SourceId } from "../../src/contracts/ids.ts";
import type { Index, Label, SearchHit, SearchQuery } from "../../src/contracts/search-index.ts";
import type { StoreUnderTest } from "./store-under-test.ts";

export const DEMO = "DEMO" as DomainId;
export const LIBRARY = "library" as SourceId;
const never = new AbortController().signal;

/** A store with some texts in it, asked by search alone. */
export interface SearchFixture {
  readonly index: Index;
  /** One commit. null removes the item. */
  commit(items: Readonly<Record<string, string | null>>, options?: CommitOptions): Promise<void>;
  search(text: string, query?: Partial<SearchQuery>): Promise<SearchHit[]>;
  /** Of the documents found, best first, each once, without their ending. */
  names(text: string, query?: Partial<SearchQuery>): Promise<string[]>;
  close(): Promise<void>;
}

export interface CommitOptions {
  readonly source?: SourceId;
  readonly domain?: DomainId;
  readonly labels?: Readonly<Record<string, Partial<Label>>>;
}

export async function searchFixture(open: () => Promise<StoreUnderTest>): Promise<SearchFixture> {
  const folder = await mkdtemp(join(tmpdir(), "search-"));
  const store = await open();
  const index = await store.openIndex(DEMO);
  const search: SearchFixture["search"] = (text, query = {}) => index.search({ text, limit: 10, ...query });
  return {
    index,
    search,
    async commit(items, { source = LIBRARY, domain = DEMO, labels = {} } = {}) {
      const draft = await (domain === DEMO ? index : await store.openIndex(domain)).draft(source);
      for (const [item, text] of Object.entries(items)) {
        if (text === null) await draft.remove(item as ItemId);
        else await draft.put(await makeFile(folder, item, text, labels[item]), never);
      }
      const { failed } = await draft.commit(never, { allowEmpty: true });
      if (failed.length > 0) throw new Error(`commit: ${failed[0]?.reason}`);
    },
    async names(text, query) {
      return [...new Set((await search(text, query)).map((hit) => hit.name.replace(/\.\w+$/, "")))];
    },
    async close() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function makeFile(
  folder: string,
  item: string,
  text: string,
  label: Partial<Label> = {},
): Promise<Parameters<Awaited<ReturnType<Index["draft"]>>["put"]>[0]> {
  const name = `${item}.md`;
  const path = join(folder, name);
  await writeFile(path, text);
  return {
    itemId: item as ItemId,
    path,
    sha256: createHash("sha256").update(text).digest("hex"),
    bytes: Buffer.byteLength(text),
    label: {
      name,
      path: name,
      url: `https://t.example/${name}`,
      fileType: "md",
      modifiedAt: "",
      attributes: {},
      ...label,
    },
  };
}
