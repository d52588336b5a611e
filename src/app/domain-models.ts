import type { DomainModels, FoundPassage } from "../contracts/domain-models.ts";
import { ALL_DOMAINS, domainNameIn } from "../contracts/domain-models.ts";
import { NotFoundError } from "../contracts/errors.ts";
import type { DomainId, FileId, VectorStoreId } from "../contracts/ids.ts";
import type { SearchHit } from "../contracts/search-index.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import type { QuerySource } from "../engine/query.ts";
import { sayFreshness } from "../lib/freshness.ts";
import type { App } from "./app.ts";
import { openableUrl } from "./openable-url.ts";

interface DomainModelParts extends Pick<App, "query"> {
  readonly domains: Pick<DomainStore, "list">;
  readonly describeHits: (store: VectorStoreId, hits: readonly SearchHit[]) => Promise<readonly QuerySource[]>;
}

/** Every domain as a model of the wire protocol, over the same search as everywhere. */
export function createDomainModels({ domains, query, describeHits }: DomainModelParts): DomainModels {
  const list = async (): Promise<readonly string[]> => {
    const ids = (await domains.list()).domains.map(({ domainId }) => domainId);
    // With nothing to search, no client should take one of these for its default.
    if (ids.length === 0) return [];
    // A domain of an earlier release may be called so; the name means all of them.
    return [ALL_DOMAINS, ...ids.filter((id) => id.toLowerCase() !== ALL_DOMAINS)].map((name) => `lockstep/${name}`);
  };
  return {
    list,
    async find(model) {
      const name = model.toLowerCase();
      return (await list()).find((one) => one.toLowerCase() === name);
    },
    async search(model, { text, limit }, { by, origin = "", signal }) {
      const name = domainNameIn(model);
      if (name === undefined) throw new NotFoundError(`The model '${model}' searches no domain.`);
      const domainId = name === ALL_DOMAINS ? undefined : (name as DomainId);
      const asked = {
        text,
        limit,
        domainId,
        vectorStoreId: undefined,
        counted: true as const,
        ...(!domainId && { everywhere: true as const }),
      };
      const { sources, words, notes = [] } = await query(asked, { principal: by, signal });
      return { passages: sources.map((source) => toPassage(source, origin)), words, notes };
    },
    async describe(storeId, hits, origin) {
      const sources = await describeHits(
        storeId as VectorStoreId,
        hits.map(({ filename: name, ...hit }) => ({ ...hit, name, score: 0, sectionPath: "" })),
      );
      return sources.map((source) => toPassage(source, origin).attributes);
    },
  };
}

function toPassage(source: QuerySource, origin: string): FoundPassage {
  const { title, text, score, name: filename, modifiedAt: changedAt, checkedAt } = source;
  const url = openableUrl(source, origin);
  const freshness = sayFreshness({ ...source, changedAt });
  const added = { title, url, source_checked: checkedAt, freshness };
  return {
    fileId: source.fileId as FileId,
    filename,
    text,
    score,
    sectionPath: source.sectionPath,
    title,
    url,
    freshness,
    attributes: withinLimits(source.attributes, added),
  };
}

/** The protocol allows 16 attributes of 512 characters. */
const MOST_ATTRIBUTES = 16;
const LONGEST_VALUE = 512;

/** What the file has of its own stays. */
function withinLimits(
  own: QuerySource["attributes"],
  added: Readonly<Record<string, string>>,
): QuerySource["attributes"] {
  const fitting = Object.entries(added).filter(
    ([key, value]) => !(key in own) && value !== "" && value.length <= LONGEST_VALUE,
  );
  const room = Math.max(0, MOST_ATTRIBUTES - Object.keys(own).length);
  return { ...own, ...Object.fromEntries(fitting.slice(0, room)) };
}
