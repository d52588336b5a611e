import { isEmptyReason } from "../../contracts/document.ts";
import type { Domain } from "../../contracts/domain.ts";
import { explain } from "../../contracts/errors.ts";
import type { DocumentVersion, Index } from "../../contracts/search-index.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import type { EngineParts } from "../engine-parts.ts";
import { describeMissingStore } from "../index-target.ts";
import type { FoundEntry } from "./find-entries.ts";
import { because, fine, problem, type Stage, shown } from "./stages.ts";

type Wanted = Pick<EngineParts, "acceptedTypes" | "maxFileBytes">;

/** Whether the mirror has a document that can be embedded. */
export function mirrorStage({ entry, source }: FoundEntry, wanted: Wanted): Stage {
  const { seen, mirrored, indexed } = entry;
  if (!mirrored) return whyNotWanted(entry, source.config, wanted);
  const { file, sourceError, processingError, downloadedAt } = mirrored;
  if (file === "") {
    return problem("mirror", `It could not be downloaded${because(sourceError)}. Every crawl tries it again.`);
  }
  if (source.mirror.isFailed(file)) {
    const reason = processingError || indexed?.embeddingError || "";
    if (isEmptyReason(reason)) {
      return problem("mirror", `The file was downloaded, and there is nothing in it to index${because(reason)}.`);
    }
    const why = because(reason);
    const way = "It waits in 03_failed until it changes at the source; retry_failed=true tries the same file again.";
    return problem("mirror", `The file was downloaded, but cannot be read${why}. ${way}`);
  }
  if (processingError) return problem("mirror", `It could not be turned into a document${because(processingError)}.`);
  if (source.mirror.isOriginal(file)) {
    return problem("mirror", "It was downloaded and waits to be processed. Crawl again, with the process step.");
  }
  const isBehind = seen !== null && seen.modifiedAt !== mirrored.fingerprint.modifiedAt;
  const behind = isBehind ? ` The source has another version since, of ${shown(seen.modifiedAt)}.` : "";
  const kept = sourceError ? ` The last try to bring it up to date failed${because(sourceError)}.` : "";
  const path = source.mirror.relativePath(file);
  return fine("mirror", `Downloaded ${shown(downloadedAt)} to '${path}'.${behind}${kept}`);
}

function whyNotWanted(
  { seen, indexed }: FoundEntry["entry"],
  config: FoundEntry["source"]["config"],
  { acceptedTypes, maxFileBytes }: Wanted,
): Stage {
  const type = fileTypeOf(seen?.name ?? indexed?.name ?? "");
  const isTyped = config.kind.openConverter === undefined;
  if (isTyped && !acceptedTypes.has(type)) {
    const what = type ? `Files of type '${type}' are` : "Files without a type are";
    return problem("mirror", `${what} not taken in, so it was not downloaded. ACCEPTED_FILE_TYPES says which are.`);
  }
  if (isTyped && seen && seen.size > maxFileBytes) {
    const megabytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MB`;
    return problem(
      "mirror",
      `It has ${megabytes(seen.size)}, more than the ${megabytes(maxFileBytes)} that are taken in.`,
    );
  }
  const mayBeDraft = seen !== null && config.kind.leavesOutDrafts?.(config) === true;
  const draft = mayBeDraft
    ? " If it was crawled since it is there, no version of it is published: publish it, or set 'drafts' of the source to true."
    : "";
  return problem("mirror", `It was not downloaded yet. Crawl the domain.${draft}`);
}

interface InIndex {
  readonly stage: Stage;
  /** File id of the visible version; "" if none is visible. */
  readonly fileId: string;
}

/** Whether the index has it, and searches see it. */
export async function indexStage({ entry, source }: FoundEntry, domain: Domain, open: OpenIndex): Promise<InIndex> {
  const { index, problemText } = open;
  if (!index) return unseen(problem("index", problemText));
  const { sourceId } = source.config;
  const { itemId, indexed } = entry;
  const failure = indexed?.embeddingError ?? "";
  if (!index.generations) {
    const isThere = indexed?.fileId && indexed.vectorStoreId === domain.vectorStoreId;
    if (!isThere) return unseen(notIndexed(failure));
    const what = `By our records it is in the vector store since ${shown(indexed.embeddedAt)}, as file '${indexed.fileId}'`;
    return { stage: fine("index", `${what}; this backend does not tell more.`), fileId: indexed.fileId };
  }
  const versions = await index.generations.versions({ sourceId, itemId });
  const seen = versions.find(({ visible }) => visible);
  if (seen) {
    const since = `In the index since generation ${seen.since}, as file '${seen.fileId}'.`;
    return { stage: fine("index", since + later(seen, versions)), fileId: seen.fileId };
  }
  const [newest] = versions;
  const { shown: shownNow, pinned } = await index.generations.state();
  if (newest && pinned && newest.since > shownNow) {
    const way = `Release the rollback (lockstep generations ${domain.domainId} --release) to have it found.`;
    const state = `but the domain is rolled back to generation ${shownNow}`;
    return unseen(problem("index", `It came with generation ${newest.since}, ${state}. ${way}`));
  }
  return unseen(notIndexed(failure));
}

export interface OpenIndex {
  readonly index: Index | undefined;
  /** Why it cannot be opened. */
  readonly problemText: string;
}

export async function openForReaders(domain: Domain, { backend }: Pick<EngineParts, "backend">): Promise<OpenIndex> {
  const store = domain.vectorStoreId;
  if (!store) return { index: undefined, problemText: "The domain has no vector store yet. Crawl it first." };
  try {
    const index = await backend.openIndex(store, domain.domainId);
    return { index, problemText: index ? "" : describeMissingStore(domain, store, undefined) };
  } catch (error) {
    return { index: undefined, problemText: `The vector store does not answer: ${explain(error)}` };
  }
}

function unseen(stage: Stage): InIndex {
  return { stage, fileId: "" };
}

function notIndexed(failure: string): Stage {
  if (failure) return problem("index", `It could not be embedded${because(failure)}. Every crawl tries it again.`);
  return problem("index", "It is not in the index yet. Crawl the domain, with the embed step.");
}

function later(seen: DocumentVersion, [newest]: readonly DocumentVersion[]): string {
  return newest && newest.since > seen.since
    ? ` Generation ${newest.since} has a newer version, which a rollback hides.`
    : "";
}
