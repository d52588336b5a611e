import type { OwnerChange, Watch } from "../../contracts/backend.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { hasStatus } from "./refusal.ts";
import { listStoreFiles, type Store, updateAttributes } from "./store-files.ts";
import { isOfDomain } from "./wire-codec.ts";

const AT_ONCE = 8;
const REPORT_EVERY = 100;

/**
 * Our files in the store carry the domain's id, one request each; nothing is uploaded or embedded. What carries the new
 * id already is left alone, so it may be interrupted anywhere.
 */
export async function changeOwner(store: Store, change: OwnerChange, { signal, report }: Watch): Promise<void> {
  const files = (await listStoreFiles(store, undefined, signal)).filter((file) => isOfDomain(file, change.from));
  let done = 0;
  await forEachConcurrent(files, AT_ONCE, async ({ fileId, attributes }) => {
    try {
      await updateAttributes(store, fileId, { ...attributes, domain_id: change.to }, signal);
    } catch (error) {
      // Somebody took it out of the store meanwhile.
      if (!hasStatus(error, 404)) throw error;
    }
    done += 1;
    if (done % REPORT_EVERY === 0) report(`  ${done} of ${files.length} files in '${store.storeId}' were marked anew.`);
  });
}
