import type { DomainId } from "../../contracts/ids.ts";
import { embedFiles } from "./embed-files.ts";
import { listStoreFiles, type Store } from "./store-files.ts";
import { isOfDomain } from "./wire-codec.ts";

const SLICE = 500;

/**
 * Attaches to `into` what somebody else put into `from`: everything that does not carry the marks of this domain. Tells
 * what could not be attached, one sentence each.
 */
export async function carryOthers(
  from: Store,
  into: Store,
  domainId: DomainId,
  signal: AbortSignal,
): Promise<string[]> {
  const there = new Set((await listStoreFiles(into, undefined, signal)).map(({ fileId }) => fileId));
  const others = (await listStoreFiles(from, undefined, signal))
    .filter((file) => file.status === "completed" && !isOfDomain(file, domainId) && !there.has(file.fileId))
    .map(({ fileId, attributes }) => ({ fileId, attributes: { ...attributes } }));
  const failures: string[] = [];
  for (let at = 0; at < others.length; at += SLICE) {
    for (const [fileId, outcome] of await embedFiles(into, others.slice(at, at + SLICE), signal)) {
      if (outcome.status === "failed") failures.push(`file ${fileId}, which others attached: ${outcome.reason}`);
    }
  }
  return failures;
}
