import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../src/app/config.ts";
import { openWeb } from "../src/app/open-web.ts";
import { parseDomainId, type SourceId } from "../src/contracts/ids.ts";
import { openWebSite } from "../src/sources/web/site/open-web-site.ts";
import { ofKind } from "../test/kinds.ts";
import { openTestLedgers } from "../test/ledger/open-test-ledgers.ts";
import { report } from "./measure.ts";

const AT_ONCE = process.env["BENCH_AT_ONCE"] ?? "";
const storage = process.env["PERSISTENT_STORAGE_PATH"] ?? "";

/** A site as a crawl lists it: every page asked for, read, written down in the registry and kept on disk. */
await report(async () => {
  const config = readConfig({
    PERSISTENT_STORAGE_PATH: storage,
    WEB_ALLOW_PRIVATE_NETWORKS: "true",
    WEB_REQUESTS_PER_HOST: AT_ONCE,
    WEB_PAGES_AT_ONCE: AT_ONCE,
    WEB_HOST_DELAY_MS: "0",
  });
  mkdirSync(join(storage, "crawler", "BENCH", "04_web"), { recursive: true });
  const ledgers = openTestLedgers(join(storage, "crawler"));
  const web = openWeb(config, new Set(["html", "md", "txt"]), ledgers.members);
  const { client, visitor, registry, rules, pagesAtOnce } = web;
  const run = {
    domainId: parseDomainId("BENCH"),
    config: { ...ofKind("web_sources"), sourceId: "site" as SourceId },
  } as const;
  const source = openWebSite(
    {
      ...ofKind("web_sources"),
      sourceId: "site" as SourceId,
      startUrls: [`${process.env["BENCH_SITE"]}/`],
      include: [],
      exclude: [],
      maxDepth: 100,
      maxPages: 1_000_000,
      images: false,
      limits: { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false },
    },
    {
      domainId: parseDomainId("BENCH"),
      client,
      visitor,
      registry,
      members: ledgers.members,
      rules,
      openMemory: (head) => ledgers.openSiteMemory(run, head, { dryRun: false }),
      dryRun: false,
      force: false,
      pagesAtOnce,
      log: () => undefined,
    },
  );
  const counted = { pages: 0, others: 0 };
  for await (const page of source.list(new AbortController().signal)) {
    for (const { kind } of page) counted[kind === "sighting" ? "pages" : "others"]++;
  }
  await web.close();
  await ledgers.close();
  return counted;
});
