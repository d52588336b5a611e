import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { readConfig } from "../../src/app/config.ts";
import { openWeb } from "../../src/app/open-web.ts";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import { createDomainStore } from "../../src/domains/domain-store.ts";
import { openErasureStore } from "../../src/domains/erasure-store.ts";
import { createIngest } from "../../src/engine/ingest/create-ingest.ts";
import type { Ingest } from "../../src/engine/ingest/ingest.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";

/** How long an item belongs to a worker that was killed. */
export const LOCK_MS = 2500;

/** The registry, the queue and the web as the settings name them, without index and backend. */
export function openWorker(
  settings: Readonly<Record<string, string>>,
  userAgent: string,
): { readonly ingest: Ingest; close(): Promise<void> } {
  const config = readConfig(settings);
  const crawlerFolder = join(config.storagePath, "crawler");
  const { database } = config;
  const place = database.kind === "postgres" ? { url: database.url.reveal() } : { crawlerFolder };
  const ledgers = openTestLedgers(crawlerFolder, place);
  const web = openWeb(config, new Set(["md", "html"]), ledgers.members, { userAgent, lockMs: LOCK_MS, restMs: 1 });
  const folders = { domainsFolder: join(config.storagePath, "domains"), crawlerFolder };
  const { registry, members, queue, itemFetcher, files, documents, images, rules, policy, close } = web;
  const { defaultDomain, checks } = config.web;
  const ingest = createIngest({
    ...{ registry, members, queue, itemFetcher, files, documents, images, rules, policy, defaultDomain },
    domains: createDomainStore({ ...folders, kinds: BUILT_IN_KINDS }),
    erasures: openErasureStore(folders.domainsFolder),
    backend: { commits: "atomic", openIndex: async () => undefined },
    crawlerFolder,
    keepGoneDays: checks.keepGoneDays,
    lockMs: LOCK_MS,
  });
  return {
    ingest,
    async close() {
      await close();
      await ledgers.close();
    },
  };
}

/** Three at a time, like a worker, until it is killed. */
async function workForEver(settings: Readonly<Record<string, string>>, name: string): Promise<void> {
  const { ingest } = openWorker(settings, name);
  const signal = new AbortController().signal;
  const take = async (): Promise<void> => {
    for (;;) {
      const found = await ingest.workOne(name, signal).catch((error: unknown) => {
        process.stderr.write(`${name}: ${String(error)}\n`);
        return false;
      });
      if (!found) await setTimeout(20);
    }
  };
  await Promise.all([take(), take(), take()]);
}

if (import.meta.main) await workForEver(JSON.parse(process.argv[2] ?? "{}"), process.argv[3] ?? "");
