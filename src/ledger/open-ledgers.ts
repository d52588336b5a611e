import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ConflictError, explain } from "../contracts/errors.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { ArchivedMaps, LedgerOptions, LedgerSource, Ledgers } from "../contracts/ledger.ts";
import { MANIFEST_FILE } from "../contracts/manifest.ts";
import { type EarlierMembers, MEMBERS_OF } from "../contracts/members.ts";
import type { CrawlHead } from "../contracts/site-memory.ts";
import { namesIn, pathExists } from "../lib/file-system.ts";
import type { Sql, SqlDatabase } from "../lib/sql/sql.ts";
import { openAcknowledgements } from "./acknowledgements.ts";
import { forgetState, openDomainState, renameState } from "./domain-state.ts";
import { eraseTraces, findTraces, isNameShared, itemsWithHash } from "./erased-traces.ts";
import { readExports } from "./exports/export-file.ts";
import { encodeManifest } from "./exports/manifest-codec.ts";
import { exportManifest, readManifestBack, replaceManifest } from "./exports/manifest-export.ts";
import {
  areMapsUntouched,
  MapAppender,
  type MapPlace,
  readMapsBack,
  replaceMaps,
  withMapsLock,
} from "./exports/map-exports.ts";
import { encodeMap, FACETS, mapFile } from "./exports/map-files.ts";
import { openFilesMetadata } from "./exports/metadata-export.ts";
import { openFeedbackRows } from "./feedback-table.ts";
import { emptyLog, type LedgerPlace, type LedgerSnapshot, openLedgerDatabases } from "./ledger-databases.ts";
import {
  copyMapsAside,
  describeIndexed,
  hasCsvMaps,
  hasOldFiles,
  mappedStores,
  migrateCsvMaps,
  putOldFilesAside,
} from "./migrate/migrate-csv-maps.ts";
import {
  copyManifestAside,
  migrateManifest,
  migrateSiteMemory,
  migrateUploadJournals,
  removeOldLeases,
} from "./migrate/migrate-earlier-files.ts";
import {
  findSource,
  IMPORTED,
  openSource,
  readFreshness,
  type SourceKey,
  type SourceRow,
  versionOf,
} from "./source-row.ts";
import { createLeases } from "./sql-leases.ts";
import { SqlLedger, type SqlLedgerOptions } from "./sql-ledger.ts";
import { HAS_NO_FACET } from "./sql-manifest.ts";
import { createMembers } from "./sql-members.ts";
import { openStoredPlans, SqlPlan } from "./sql-plan.ts";
import { SqlSiteMemory } from "./sql-site-memory.ts";
import { openUploadJournals, takeOverUploads } from "./upload-journals.ts";

interface LedgersOptions {
  readonly place: LedgerPlace;
  /** The folders of all sources, wherever the ledgers are. */
  readonly crawlerFolder: string;
  /** Where earlier releases kept data that is in the ledger now. */
  readonly domainsFolder: string;
  readonly indexFolder: string;
  /** The source's folder below `crawlerFolder`. */
  rootOf(source: LedgerSource): string;
  /** Rows appended to map files at a time while a step runs. */
  readonly appendEvery: number;
  /** Members stored in the registry by earlier releases; opened when members are first needed. */
  readonly earlierMembers: () => EarlierMembers;
  /** The last archived map files of a source without any in its folder; undefined: none. */
  archivedMaps(source: LedgerSource): Promise<ArchivedMaps | undefined>;
}

/** Each has its own connection to PostgreSQL. */
const MAX_DRY_RUNS = 10;

/** The facets that only this step writes while it holds its lease. */
const APPENDED = { download: ["seen", "mirrored"], process: ["mirrored"], embed: ["indexed"] } as const;

export function openLedgers(options: LedgersOptions): Ledgers {
  const { place, crawlerFolder, domainsFolder, indexFolder, rootOf, appendEvery, earlierMembers } = options;
  const databases = openLedgerDatabases(place);
  const leases = createLeases(databases);
  const metadata = openFilesMetadata(databases, leases, domainsFolder);
  const members = createMembers({ databases, crawlerFolder, earlier: earlierMembers });
  const folderOf = (source: LedgerSource): string => join(crawlerFolder, rootOf(source));
  const keepsMaps = ({ config }: LedgerSource): boolean => config.kind.abilities.keepsMaps;
  const hasManifest = ({ config }: LedgerSource): boolean => !config.kind.abilities.hasIds;
  const keyOf = (source: LedgerSource): SourceKey => ({
    domainId: source.domainId,
    kind: source.config.sourceType,
    sourceId: source.config.sourceId,
    root: rootOf(source),
  });

  const find = async (source: LedgerSource): Promise<{ db: SqlDatabase; row: SourceRow } | undefined> => {
    const db = await databases.find(source.domainId);
    const row = await (db && findSource(db, keyOf(source)));
    return db && row && { db, row };
  };

  const open = async (source: LedgerSource, options: LedgerOptions): Promise<SqlLedger> => {
    const { vectorStoreId, vectorStoreId: store = "" } = options;
    const folder = folderOf(source);
    const ledgerOptions = { ...keyOf(source), vectorStoreId, mapFolder: keepsMaps(source) ? folder : undefined };
    if (options.readOnly) return await openForReading(source, options, { ...ledgerOptions, folder, store });
    const db = await databases.open(source.domainId);
    const facets = options.step && keepsMaps(source) && store === "" ? APPENDED[options.step] : [];
    const appender = facets.length > 0 ? new MapAppender(folder, facets, appendEvery) : undefined;
    const ledger = await SqlLedger.open(db, { ...ledgerOptions, appender });
    if (ledger.source.imported === IMPORTED) {
      if (keepsMaps(source)) await readMapsBack(ledger, db, { folder, store, writer: db });
      if (hasManifest(source)) await readManifestBack(ledger, db, { folder, writer: db });
      return ledger;
    }
    const { problems, wasLost } = await importSource(db, source);
    const imported = await SqlLedger.open(db, { ...ledgerOptions, appender });
    imported.problems.push(...problems);
    imported.wasLost = wasLost;
    return imported;
  };

  let dryRuns = 0;
  const endDryRun = async (snapshot: LedgerSnapshot): Promise<void> => {
    dryRuns -= 1;
    await snapshot.end();
  };

  /** Opens it read-only: imports are only overlaid on this ledger. */
  const openForReading = async (
    source: LedgerSource,
    { isSnapshot = false }: LedgerOptions,
    { folder, store, ...ledgerOptions }: SqlLedgerOptions & MapPlace,
  ): Promise<SqlLedger> => {
    if (isSnapshot && "url" in place && dryRuns >= MAX_DRY_RUNS) {
      throw new ConflictError(`${dryRuns} dry runs are under way. Try again when one of them has ended.`);
    }
    for (;;) {
      const snapshot = isSnapshot ? await databases.snapshot(source.domainId) : undefined;
      if (snapshot) dryRuns += 1;
      const sql = isSnapshot ? snapshot?.sql : await databases.find(source.domainId);
      const release = snapshot && ((): Promise<void> => endDryRun(snapshot));
      const reading = async (): Promise<{ readonly before: string; readonly ledger: SqlLedger }> => {
        // First: if the source is imported meanwhile, everything is read again.
        const before = await mapStateOf(sql, source);
        return { before, ledger: await SqlLedger.read(sql, { ...ledgerOptions, release, isScratch: isSnapshot }) };
      };
      const { before, ledger } = await reading().catch(async (error: unknown) => {
        await release?.();
        throw error;
      });
      try {
        const keepsMaps = ledgerOptions.mapFolder !== undefined;
        const overlaid = overlayMaps(ledger, sql, { folder, store, keepsMaps });
        const failure = await overlaid
          .then(() => overlayManifest(ledger, sql, source, { isSnapshot }))
          .then(
            () => undefined,
            (error: unknown) => ({ error }),
          );
        // Files that a step wrote or moved while they were read here are no edits: read again.
        const isSteady = before === (await mapStateOf(await databases.find(source.domainId), source));
        if (isSteady && failure) throw failure.error;
        if (isSteady && isSnapshot && (await isLedgerMissing(ledger, folder)))
          ledger.problems.push(describeForgotten(source));
        if (isSteady) return ledger;
      } catch (error) {
        await ledger.close();
        throw error;
      }
      await ledger.close();
    }
  };

  /** Changes whenever a step imports, moves or writes map files. */
  const mapStateOf = async (sql: Sql | undefined, source: LedgerSource): Promise<string> => {
    const found = sql && (await findSource(sql, keyOf(source)));
    return found ? JSON.stringify([found.birth, found.imported, [...(await readExports(sql, found.source_no))]]) : "";
  };

  const overlayMaps = async (
    ledger: SqlLedger,
    sql: Sql | undefined,
    { folder, store, keepsMaps }: MapPlace & { readonly keepsMaps: boolean },
  ): Promise<void> => {
    if (!ledger.source.imported && (await hasCsvMaps(folder))) {
      await migrateCsvMaps(ledger, folder, { readOnly: true, store });
    } else if (keepsMaps && sql) {
      await readMapsBack(ledger, sql, { folder, store });
    }
  };

  /** A dry run refuses a manifest of another layout, as a run would; other readers ignore it. */
  const overlayManifest = async (
    ledger: SqlLedger,
    sql: Sql | undefined,
    source: LedgerSource,
    { isSnapshot }: { readonly isSnapshot: boolean },
  ): Promise<void> => {
    if (!hasManifest(source)) return;
    const folder = folderOf(source);
    try {
      if (!ledger.source.imported) await migrateManifest(ledger, folder);
      else if (sql) await readManifestBack(ledger, sql, { folder });
    } catch (error) {
      if (isSnapshot || !(error instanceof ConflictError)) throw error;
    }
  };

  /**
   * Imports a source that the database does not have: an earlier release crawled it, or the database was lost.
   * Repeatable after a kill.
   */
  const importSource = async (
    db: SqlDatabase,
    source: LedgerSource,
  ): Promise<{ readonly problems: readonly string[]; readonly wasLost: boolean }> => {
    const folder = folderOf(source);
    const problems: string[] = [];
    let wasLost = false;
    const stateOf = async (): Promise<number> => (await findSource(db, keyOf(source)))?.imported ?? 0;
    const setState = async (state: number): Promise<void> => {
      const { domainId, kind, sourceId } = keyOf(source);
      const where = "domain_id = $1 AND kind = $2 AND source_id = $3";
      await db.run(`UPDATE source SET imported = $4 WHERE ${where}`, [domainId, kind, sourceId, state]);
    };
    // Two steps of a source have different leases and may come here at the same time.
    await withMapsLock(folder, async () => {
      if ((await stateOf()) === 0) {
        if (keepsMaps(source)) await copyMapsAside(folder);
        const hasMaps = await hasCsvMaps(folder);
        const left = await namesIn(folder);
        // A mirror without ledger rows: the ledger was lost, unless an earlier release left its files.
        wasLost = left.some((name) => !name.startsWith(".")) && !(await hasOldFiles(folder));
        const archived = !wasLost || hasMaps ? undefined : await unpackMaps(source, folder, problems);
        const from = archived?.folder ?? folder;
        for (const store of hasMaps || archived ? (["", ...(await mappedStores(from))] as const) : []) {
          const ledger = await SqlLedger.open(db, { ...keyOf(source), vectorStoreId: store || undefined });
          await migrateCsvMaps(ledger, from, { readOnly: false, store });
          problems.push(...ledger.problems);
          if (store !== "") continue;
          await metadata.readBack(source.domainId);
          await describeIndexed(ledger);
        }
        if (hasManifest(source)) {
          await copyManifestAside(folder);
          const ledger = await SqlLedger.open(db, keyOf(source));
          await migrateManifest(ledger, folder);
          problems.push(...ledger.problems);
        }
        if (archived) {
          await members.recall(source, await SqlLedger.open(db, keyOf(source)));
          await rm(archived.folder, { recursive: true });
        }
        const maps = archived?.from ?? (hasMaps ? "its map files" : "");
        if (wasLost) problems.push(describeLost(source, maps, left));
        await setState(1);
      }
      if ((await stateOf()) === 1) {
        await putOldFilesAside(folder, { maps: !keepsMaps(source) });
        await removeOldLeases(folder, domainsFolder, source.domainId);
        if (keepsMaps(source) && (await hasCsvMaps(folder))) {
          await replaceMaps(await SqlLedger.open(db, keyOf(source)), db, { folder, store: "" });
        }
        if (hasManifest(source)) await replaceManifest(await SqlLedger.open(db, keyOf(source)), db, folder);
        await setState(IMPORTED);
      }
    });
    return { problems, wasLost };
  };

  /** Unpacks the map files of a report, for a source with a mirror and no ledger rows. */
  const unpackMaps = async (
    source: LedgerSource,
    folder: string,
    problems: string[],
  ): Promise<{ readonly folder: string; readonly from: string } | undefined> => {
    const archived = await options.archivedMaps(source);
    if (!archived) return undefined;
    const target = join(folder, ".lockstep", "archived-maps");
    await rm(target, { recursive: true, force: true });
    await mkdir(target, { recursive: true });
    try {
      for (const { name, content } of archived.files) await pipeline(content, createWriteStream(join(target, name)));
      return { folder: target, from: archived.from };
    } catch (error) {
      await rm(target, { recursive: true });
      const { sourceId } = source.config;
      problems.push(
        `The ledger knew nothing of source '${sourceId}', and ${archived.from} cannot be read: ${explain(error)}`,
      );
      return undefined;
    }
  };

  return {
    ...openDomainState(databases, domainsFolder),
    uploads: openUploadJournals(databases, indexFolder),
    feedback: openFeedbackRows(databases),
    acknowledgements: openAcknowledgements(databases, keyOf),
    metadata,
    leases,
    open,
    openPlan: () => SqlPlan.temporary(),
    plans: openStoredPlans(databases),
    members,
    async openSiteMemory(source, head, { dryRun }) {
      const { domainId } = source;
      if (dryRun) {
        const found = await find(source);
        return await SqlSiteMemory.read(found?.db, found?.row.source_no ?? 0, head);
      }
      const db = await databases.open(domainId);
      const { source_no: no } = await openSource(db, keyOf(source));
      const openCrawl = (one: CrawlHead): Promise<SqlSiteMemory> => SqlSiteMemory.open(db, no, one);
      await migrateSiteMemory(join(folderOf(source), ".lockstep"), openCrawl);
      return await openCrawl(head);
    },
    async version(source) {
      const { db, row } = (await find(source)) ?? {};
      if (!db || !row?.imported) return "";
      const isUntouched =
        !keepsMaps(source) || (await areMapsUntouched(db, row.source_no, { folder: folderOf(source), store: "" }));
      return isUntouched ? versionOf(row) : "";
    },
    async freshness(domainId, items) {
      const db = await databases.find(domainId);
      return db ? await readFreshness(db, domainId, items) : { checkedAt: new Map(), behind: new Set() };
    },
    maps: (source) =>
      FACETS.map((facet) => ({
        name: mapFile(facet),
        async *content() {
          const ledger = await open(source, { readOnly: true });
          yield* encodeMap(facet, ledger.entries());
        },
      })),
    async exportManifest(source, { upTo = Number.POSITIVE_INFINITY } = {}) {
      const { db, row } = (await find(source)) ?? {};
      if (!db || row?.imported !== IMPORTED) return;
      const ledger = await SqlLedger.read(db, keyOf(source));
      const { present, absent } = await ledger.manifest.countPresent();
      if (present + absent <= upTo) await exportManifest(ledger, db, folderOf(source));
    },
    encodeManifest: (entries) => encodeManifest({ displaced: [], pages: [entries] }),
    async forgetManifest(source) {
      const { db, row } = (await find(source)) ?? {};
      await db?.write(async (sql) => {
        const no = row?.source_no ?? 0;
        await sql.run("DELETE FROM tracked WHERE source_no = $1", [no]);
        await sql.run(`DELETE FROM item WHERE source_no = $1 AND ${HAS_NO_FACET}`, [no]);
        await sql.run("DELETE FROM export WHERE source_no = $1 AND name = $2", [no, MANIFEST_FILE]);
        const nothing = "rev = rev + 1, tracked_rev = 0, look_root = '', look_at = '', look_id = '', look_turn = 0";
        await sql.run(`UPDATE source SET ${nothing} WHERE source_no = $1`, [no]);
      });
    },
    async writeScratchMaps(source, ledger, id) {
      const folder = folderOf(source);
      if (!(await pathExists(folder))) return undefined;
      const files = (["seen", "mirrored"] as const).map((facet) => ({
        facet,
        path: join(folder, mapFile(facet).replace(/\.csv$/, `_${id}.csv`)),
      }));
      const remove = async (): Promise<void> => {
        for (const { path } of files) await rm(path, { force: true });
      };
      try {
        for (const { facet, path } of files) {
          await pipeline(encodeMap(facet, ledger.entries()), createWriteStream(path));
        }
      } catch (error) {
        await remove();
        throw error;
      }
      return { remove };
    },
    async indexedStores(domainId, sources) {
      const db = await databases.find(domainId);
      const text =
        "SELECT DISTINCT x.store FROM indexed x JOIN source s ON s.source_no = x.source_no WHERE s.domain_id = $1 AND x.store <> ''";
      const stores = (await db?.all<{ store: VectorStoreId }>(text, [domainId])) ?? [];
      const all = new Set(stores.map(({ store }) => store));
      for (const config of sources) {
        const source = { domainId, config };
        const imported = (db && (await findSource(db, keyOf(source)))?.imported) || 0;
        if (imported === 0) for (const store of await mappedStores(folderOf(source))) all.add(store);
      }
      return [...all];
    },
    async dropStore(source, store) {
      const name = mapFile("indexed", store);
      const { db, row } = (await find(source)) ?? {};
      await db?.write(async (sql) => {
        const no = row?.source_no ?? 0;
        await sql.run("DELETE FROM indexed WHERE source_no = $1 AND store = $2", [no, store]);
        await sql.run("DELETE FROM export WHERE source_no = $1 AND name = $2", [no, name]);
        await sql.run(`DELETE FROM item WHERE source_no = $1 AND ${HAS_NO_FACET}`, [no]);
      });
      if (db) await emptyLog(db);
      await rm(join(folderOf(source), name), { force: true });
    },
    async traces(source, item) {
      const db = await databases.find(source.domainId);
      return db && (await findTraces(db, keyOf(source), item));
    },
    async eraseTraces(source, item, words) {
      const db = await databases.find(source.domainId);
      return db ? await eraseTraces(db, keyOf(source), item, words) : 0;
    },
    async withContent(domainId, hashes) {
      const db = await databases.find(domainId);
      return db ? await itemsWithHash(db, domainId, hashes) : [];
    },
    async isNameShared(domainId, name, item) {
      const db = await databases.find(domainId);
      return db !== undefined && (await isNameShared(db, domainId, name, item));
    },
    async forget(source) {
      const found = await find(source);
      if (!found) return;
      await found.db.run("DELETE FROM source WHERE source_no = $1", [found.row.source_no]);
      await found.db.run("DELETE FROM plan WHERE domain_id = $1 AND kind = $2 AND source_id = $3", [
        source.domainId,
        source.config.sourceType,
        source.config.sourceId,
      ]);
      await emptyLog(found.db);
    },
    async renameDomain({ from, to }) {
      await databases.rename({ from, to });
      const db = await databases.find(to);
      // Map files and files_metadata.json contain the domain id: mark them as outdated; users' edits still count.
      const revs = ["rev", "seen_rev", "mirrored_rev", "indexed_rev"].map((column) => `${column} = rev + 1`).join(", ");
      await db?.write(async (sql) => {
        await sql.run(`UPDATE source SET ${revs} WHERE domain_id IN ($1, $2)`, [from, to]);
        await sql.run("UPDATE source SET domain_id = $2 WHERE domain_id = $1", [from, to]);
        await sql.run("UPDATE plan SET domain_id = $2 WHERE domain_id = $1", [from, to]);
        await renameState(sql, { from, to });
      });
      const hasWeb = await pathExists(join(crawlerFolder, to, MEMBERS_OF.folder));
      if (hasWeb) await members.renameDomain({ from, to });
      if (db) await takeOverUploads(db, indexFolder, { from, to });
    },
    async forgetDomain(domainId) {
      await migrateUploadJournals(indexFolder, domainId, async () => undefined);
      if (await databases.remove(domainId)) return;
      const db = await databases.open(domainId);
      await db.write(async (sql) => {
        await sql.run("DELETE FROM source WHERE domain_id = $1", [domainId]);
        await sql.run("DELETE FROM plan WHERE domain_id = $1", [domainId]);
        await forgetState(sql, domainId);
      });
    },
    release: (domainId) => databases.release(domainId),
    close: () => databases.close(),
  };
}

/** `maps`: where its rows were read from, or ""; `left`: the names in its folder. */
function describeLost({ config }: LedgerSource, maps: string, left: readonly string[]): string {
  const rows = maps === "" ? [] : [maps];
  const ofTree = [MANIFEST_FILE, "knowledge_base"].filter(
    (name) => !config.kind.abilities.hasIds && left.includes(name),
  );
  const from = [...rows, ...ofTree].join(", ").replace(/, ([^,]+)$/, " and $1");
  const lost = `The ledger knew nothing of source '${config.sourceId}', and`;
  if (from === "") return `${lost} no map files or report are there to build it from: everything is compared anew`;
  const built = `${lost} was built again from ${from}`;
  // Files of a tree are compared by hash, which map files do not have.
  if (!config.kind.abilities.hasIds) return built;
  return `${built}. If that is older than the last crawl, crawl with mode=full, which compares everything anew`;
}

/** Whether there is a mirror without ledger rows. */
async function isLedgerMissing(ledger: SqlLedger, folder: string): Promise<boolean> {
  // Ignore the map files of a dry run.
  const isLeft = (name: string): boolean => !name.startsWith(".") && !name.endsWith(".csv");
  if (ledger.source.imported || !(await namesIn(folder)).some(isLeft)) return false;
  for await (const items of ledger.items()) if (items.length > 0) return false;
  return true;
}

function describeForgotten({ config }: LedgerSource): string {
  return `The ledger knows nothing of source '${config.sourceId}', whose mirror is there. A crawl first builds it again from what is left; this plan is made without that`;
}
