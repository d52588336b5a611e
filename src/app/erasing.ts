import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { DomainStore } from "../domains/domain-store.ts";
import type { ErasingParts } from "../engine/engine-parts.ts";
import { type FoundJobFile, findJobFiles } from "../jobs/job-file.ts";
import { namesIn } from "../lib/file-system.ts";
import { isInFile, maskInFile, WordFinder } from "../lib/mask-file.ts";
import { vacuumPostgres } from "../lib/sql/postgres-database.ts";
import { scrubSqlite } from "../lib/sql/scrub-sqlite.ts";
import { storageFolder } from "../mirror/layout.ts";
import { eraseFromReports } from "../reports/erase-from-reports.ts";
import { openSigner } from "../security/signing-key.ts";
import type { Config } from "./config.ts";

/** What erasing does in rooms that the engine does not know: logs, reports, files of the databases. */
export function openErasing({ storagePath, database }: Config, domains: Pick<DomainStore, "list">): ErasingParts {
  const folder = (name: Parameters<typeof storageFolder>[1]): string => storageFolder(storagePath, name);
  /** Jobs and reports of a renamed domain keep the old name. */
  const otherDomains = async (domainId: string): Promise<ReadonlySet<string>> => {
    const { domains: all, broken } = await domains.list();
    const others = new Set<string>([...all, ...broken].map((one) => one.domainId));
    others.delete(domainId);
    return others;
  };
  return {
    signer: openSigner(folder("security")),
    async maskLogs(which, domainId, words, { dryRun }) {
      const finder = new WordFinder(words);
      const others = await otherDomains(domainId);
      // A dry run of erasing names copies in other domains.
      const isConcerned = ({ object, action }: FoundJobFile): boolean => !others.has(object) || action === "erase";
      const paths =
        which === "jobs"
          ? (await findJobFiles(folder("jobs"))).filter(isConcerned).map(({ path }) => path)
          : (await namesIn(folder("audit"))).map((name) => join(folder("audit"), name));
      let masked = 0;
      for (const path of paths) {
        const isNamed = dryRun ? await isInFile(path, finder) : (await maskInFile(path, finder)) > 0;
        if (isNamed) masked += 1;
      }
      return masked;
    },
    async eraseReports(domainId, named, options) {
      const others = await otherDomains(domainId);
      return await eraseFromReports(folder("reports"), { ...named, concerns: (id) => !others.has(id) }, options);
    },
    maskFile: async (path, finder) => (await maskInFile(path, finder)) > 0,
    removePath: (path) => rm(path, { recursive: true, force: true }),
    async scrub(words) {
      if (database.kind === "postgres") {
        await vacuumPostgres(database.url.reveal());
        return [
          "In free space of PostgreSQL's files until it is used again, in its write-ahead log, and in its own backups: VACUUM was run, VACUUM FULL was not.",
        ];
      }
      const { left } = await scrubSqlite({ paths: await sqliteFiles(database.folder), words });
      return left.map((path) => `In the log of ${path}, which a reader kept in use: it is emptied when that ends.`);
    },
  };
}

/** The stores, the tables beside them, and the ledgers of all domains. */
async function sqliteFiles(databaseFolder: string): Promise<readonly string[]> {
  const [index, crawler] = [storageFolder(databaseFolder, "index"), storageFolder(databaseFolder, "crawler")];
  const stores = (await namesIn(index)).filter((name) => name.endsWith(".sqlite")).map((name) => join(index, name));
  const ledgers = (await namesIn(crawler)).map((name) => join(crawler, name, "ledger.sqlite"));
  return [...stores, ...ledgers.filter((path) => existsSync(path))];
}
