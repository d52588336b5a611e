import { join } from "node:path";
import { writeAnswer } from "../backends/embedded/answers/write-answer.ts";
import { ownerOf } from "../contracts/access.ts";
import type { AnswerSentence } from "../contracts/answer.ts";
import type { Backend, Searching } from "../contracts/backend.ts";
import { BusyError, DamagedError, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, FileId, JobId } from "../contracts/ids.ts";
import type { JobContext, JobRecord } from "../contracts/job.ts";
import type { ArchivedMaps, LedgerSource, Ledgers } from "../contracts/ledger.ts";
import type { ReportId, ReportSummary } from "../contracts/report.ts";
import type { SourceKind } from "../contracts/source-kind.ts";
import { createDomainStore, type DomainStore } from "../domains/domain-store.ts";
import { openErasureStore } from "../domains/erasure-store.ts";
import { openQuestionStore } from "../domains/question-store.ts";
import { applyStoredPlan } from "../engine/apply-stored-plan.ts";
import { checkCrawl } from "../engine/check-crawl.ts";
import { cleanupMetadata } from "../engine/cleanup-metadata.ts";
import { crawl } from "../engine/crawl.ts";
import { type CrawlResult, countLeftOut, crawlRequest } from "../engine/crawl-request.ts";
import { planDeletion } from "../engine/delete-domain.ts";
import { createDocuments } from "../engine/documents.ts";
import { createDomainStatuses } from "../engine/domain-status.ts";
import { createQuestions } from "../engine/edit-questions.ts";
import type { EngineParts, RetentionRules } from "../engine/engine-parts.ts";
import { blockedIn, withoutErased } from "../engine/erase/blocked-items.ts";
import { erase } from "../engine/erase/erase.ts";
import { allowErased, liftHold, setHold } from "../engine/erase/holds.ts";
import { explainDocument } from "../engine/explain/explain.ts";
import { createFailures } from "../engine/failures.ts";
import { createFeedback, type Feedback } from "../engine/feedback.ts";
import { difference, release, rollback, viewGenerations } from "../engine/generations.ts";
import { createIngest } from "../engine/ingest/create-ingest.ts";
import type { Ingest } from "../engine/ingest/ingest.ts";
import { maintain } from "../engine/maintain/maintain.ts";
import { mapFiles } from "../engine/map-files.ts";
import { migrate } from "../engine/migrate/migrate.ts";
import { describeHits, type QueryAnswer, type QueryRequest, type QuerySource, query } from "../engine/query.ts";
import { finishRenames, planRename, type RenameParts, renameDomain } from "../engine/rename-domain.ts";
import { createSearchableDocuments, type SearchableParts } from "../engine/searchable-documents.ts";
import { createPlans } from "../engine/stored-plans.ts";
import { repairDomain } from "../engine/verify/repair-domain.ts";
import { createCertificates } from "../engine/verify/stored-certificates.ts";
import type { VerifyRequest } from "../engine/verify/verification.ts";
import { type VerifyParts, type VerifyResult, verifyAfterCrawl, verifyDomain } from "../engine/verify/verify-domain.ts";
import { createExtractor, type ExtractorOptions } from "../extract/extractor.ts";
import { examineReaders } from "../extract/reader/reader-command.ts";
import { type FoundFor, searchAnswer } from "../index/answers/find-answer.ts";
import { closestSentence, pageOfSentence } from "../index/answers/page-of-sentence.ts";
import { statementsOf } from "../index/answers/statements-of.ts";
import { createInventory } from "../inventory/create-inventory.ts";
import { createResponseLog } from "../inventory/response-log.ts";
import { CANCELLED_BY_USER } from "../jobs/job-run.ts";
import { createJobRunner } from "../jobs/job-runner.ts";
import { createJobStore, type JobStore } from "../jobs/job-store.ts";
import { openLedgers } from "../ledger/open-ledgers.ts";
import { createKeyedLimiter } from "../lib/concurrency.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { KnowledgeBase } from "../mirror/knowledge-base.ts";
import { sourceFolder, storageFolder } from "../mirror/layout.ts";
import { Mirror } from "../mirror/mirror.ts";
import { type Pricing, STORAGE_PRICE } from "../plan/plan-costs.ts";
import { openTaskQueue } from "../queue/open-task-queue.ts";
import { createReportStore, type ReportStore } from "../reports/report-store.ts";
import type { Access } from "../security/access.ts";
import { createAuditLog } from "../security/audit-log.ts";
import { openAccess } from "../security/open-access.ts";
import { type LocalServer, openAnswerModels, readChosenModel } from "./answer-model.ts";
import { createAnswers } from "./answers.ts";
import type { App } from "./app.ts";
import { busyWith } from "./busy-with.ts";
import { claimDatabaseFolder } from "./claim-database-folder.ts";
import type { Config } from "./config.ts";
import { createDomainModels } from "./domain-models.ts";
import { openErasing } from "./erasing.ts";
import { examineWith } from "./examine-with.ts";
import { crawlJob, crawlTask } from "./jobs.ts";
import { type OpenedBackend, openBackend } from "./open-backend.ts";
import { type FolderRoots, openFolderRoots } from "./open-folder-roots.ts";
import { type LazyConnection, openSharePoint, type Pace } from "./open-sharepoint.ts";
import { databaseOf, type OpenedWeb, openWeb, timesOf, type WebPace } from "./open-web.ts";
import { keyOfHit } from "./openable-url.ts";
import { createQueueingRunner, endDeadJobs } from "./queued-jobs.ts";
import { removeOldFiles } from "./remove-old.ts";
import { runWorker } from "./run-worker.ts";
import { createSchedule, type Schedule, type ScheduleParts } from "./schedule.ts";
import { type Connections, listKinds, type TreeConnections } from "./source-kinds.ts";
import { prepareStorage } from "./storage-rights.ts";
import { createUploads } from "./uploads.ts";
import { WATCH_ACTION } from "./watch.ts";

export type ComposePace = Pace & {
  /** Reads only, as the doctor does: stores nothing about what it finds. */
  readonly readOnly?: boolean;
  /** Where language models of this machine are looked for. */
  readonly localServers?: readonly LocalServer[];
  readonly web?: WebPace;
  /** Additional kinds of sources. */
  readonly kinds?: readonly SourceKind[];
  /** The clock for grace periods, and for the retention of files and generations. */
  readonly now?: () => Date;
  /** Runs searches in this thread. A short-lived process would end before a search thread had started. */
  readonly searchesHere?: boolean;
  /** Limits for reading one file. */
  readonly extract?: ExtractorOptions;
};

/** Assembles the product. The only module that knows every source, ledger and backend by name. */
export async function compose(config: Config, pace: ComposePace = {}): Promise<App> {
  await prepareStorage(config.storagePath);
  await claimDatabaseFolder(config, pace);
  const folder = (name: Parameters<typeof storageFolder>[1]): string => storageFolder(config.storagePath, name);
  const kinds = listKinds(() => connections, pace.kinds);
  const domains = createDomainStore({ domainsFolder: folder("domains"), crawlerFolder: folder("crawler"), kinds });
  const extractor = createExtractor(pace.extract);
  const searching = createSearching();
  const responseLog = createResponseLog(folder("inventory"));
  const crawlerFolder = folder("crawler");
  const reports = createReportStore(folder("reports"));
  const ledgers = openLedgers({
    place:
      config.database.kind === "postgres"
        ? { url: config.database.url.reveal() }
        : { crawlerFolder: storageFolder(config.database.folder, "crawler") },
    crawlerFolder,
    domainsFolder: folder("domains"),
    indexFolder: folder("index"),
    rootOf: (source) => sourceFolder(source.domainId, source.config),
    appendEvery: config.appendToMapsEvery,
    earlierMembers: () => web.registry.earlierMembers,
    archivedMaps: (source) => findArchivedMaps(reports, source),
  });
  const chosenModel = config.answers.model ?? (await readChosenModel(folder("index")));
  const opened = await openBackend(
    { ...config, answers: { ...config.answers, model: chosenModel } },
    {
      indexFolder: folder("index"),
      extractor,
      responseLog,
      searching,
      uploads: ledgers.uploads,
      domainModels: createDomainModels({
        domains,
        query: (...asked) => app.query(...asked),
        describeHits: (store, hits) => describeHits(store, hits, parts),
      }),
      ...pace,
    },
  );
  const { backend, facts } = opened;
  let inventory: App["inventory"] | undefined;
  const sharepoint = openSharePoint(config, pace);
  const acceptedTypes = config.acceptedTypes ?? backend.acceptedTypes;
  const now = pace.now ?? ((): Date => new Date());
  const { access, roots } = await openAccessControl(config, folder("security"), domains, pace);
  const trees = openTrees(config, { roots, extractor, acceptedTypes, now });
  const web = openWeb(config, acceptedTypes, ledgers.members, pace.web);
  const ingest = openIngest(config, { domains, backend, web, pace: pace.web ?? {} });
  const connections: Connections = { sharepoint, web, trees, crawlerFolder, ledgers };
  const parts = openParts(config, { domains, backend, reports, web, trees, ledgers });
  const jobs = createJobStore(folder("jobs"));
  const runner = createJobRunner({ jobsFolder: folder("jobs") });
  const queue = openTaskQueue(databaseOf(config));
  const starter = config.runJobsIn === "workers" ? createQueueingRunner(runner, jobs, queue) : runner;
  const { signer } = parts.erasing;
  const crawlInJob: App["crawl"] = (request, job) =>
    logWaits(sharepoint, job, async () => {
      const { approvedPlan } = request;
      if (approvedPlan !== undefined) return applyStoredPlan({ ...request, approvedPlan }, parts, job);
      const result = await crawl(request, parts, job);
      await verifyAfterCrawl(result, request, { ...parts, signer }, job);
      return result;
    });
  const told = (domainId: DomainId): Promise<Told> => findTold(jobs, domainId);
  const failures = createFailures({ ...parts, troubles: async (domainId) => (await told(domainId)).troubles });
  const leftOut = async (domainId: DomainId): Promise<number> => (await told(domainId)).leftOut;
  const feedback = createFeedback({ ...parts, failures, leftOut });
  const app: App = {
    config,
    domains,
    jobs,
    runner: starter,
    reports,
    access,
    audit: createAuditLog(folder("audit")),
    get inventory() {
      inventory ??= createInventory({ client: opened.client(), clientFor: opened.client, responseLog });
      return inventory;
    },
    answerModels: openAnswerModels({
      config,
      folder: folder("index"),
      use: opened.writeWith,
      servers: pace.localServers,
    }),
    answers: createAnswers({
      noteNothing: async (request, by) =>
        feedback.noteNothing(request.text, await askedDomains(request, parts), ownerOf(by)),
      query: (...asked) => app.query(...asked),
      writer: () => opened.writer()?.name ?? "",
      take: (...asked) => takeAnswer(app, ...asked),
      write: (question, sources, signal) => writeWith(opened.writer(), { question, sources, signal }, app),
    }),
    get ingest() {
      return ingest();
    },
    documents: createDocuments(parts),
    failures,
    feedback,
    searchableDocuments: openSearchableDocuments(parts, searching),
    leases: ledgers.leases,
    otherStores: (domainId) => ledgers.stores.list(domainId).catch(noneIfDamaged),
    schedule: openSchedule({ domains, jobs, folder: folder("domains"), states: ledgers.schedules }, () => app),
    plans: createPlans(parts),
    checkCrawl: (request) => checkCrawl(request, parts),
    crawl: crawlInJob,
    work: (options, signal) => runWorker({ queue, runner, jobs, crawl: crawlInJob }, options, signal),
    endDeadJobs: (log) => endDeadJobs(jobs, queue, log),
    cleanupMetadata: (domainId, job) => cleanupMetadata(domainId, parts, job),
    maintain: (request, job) => maintain(request, { ...parts, removeOld: removeOldFiles(app, now) }, job),
    verify: (request, options, job) =>
      logWaits(sharepoint, job, () => verify(request, options, { ...parts, signer }, job)),
    questions: createQuestions({
      ...parts,
      statementsIn: (markdown) => statementsOf(markdown).map(({ text }) => text),
    }),
    uploads: createUploads(parts, () => app),
    certificates: createCertificates(parts),
    ...erasureVerbs(parts),
    ...searchVerbs({ ...parts, feedback }, searching),
    mapFiles: (domainId, sourceId) => mapFiles(domainId, sourceId, parts),
    standing: createDomainStatuses(parts),
    ...domainVerbs({ ...parts, busyWith: busyWith(jobs) }),
    ...generationVerbs(parts),
    checkPlaces: async (sources) => {
      for (const source of sources) await source.kind.checkPlace?.(source);
    },
    ...doctorVerbs({ config, facts, parts, web, trees, readers: examineReaders }),
    wire: opened.wire,
    async close() {
      await feedback.flush();
      await starter.stop("Server stopped.");
      await responseLog.flush();
      for (const part of [app.access, sharepoint, web, opened, queue, ledgers]) await part.close();
    },
    [Symbol.asyncDispose]: () => app.close(),
  };
  return app;
}

/** Opens access control and the list of folders that sources may read. */
async function openAccessControl(
  { access: settings, trees }: Config,
  folder: string,
  domains: DomainStore,
  { readOnly = false }: ComposePace,
): Promise<{ readonly access: Access; readonly roots: FolderRoots }> {
  const access = openAccess({ ...settings, folder, adminKey: settings.adminKey.reveal() });
  return { access, roots: await openFolderRoots({ folder, roots: trees.roots, domains, access, readOnly }) };
}

/** Opens the registry on first use: most commands never need it. */
function openIngest(
  { storagePath, web: { checks, defaultDomain } }: Config,
  {
    domains,
    backend,
    web,
    pace,
  }: {
    readonly domains: DomainStore;
    readonly backend: Backend;
    readonly web: OpenedWeb;
    readonly pace: WebPace;
  },
): () => Ingest {
  let ingest: Ingest | undefined;
  return () => {
    ingest ??= createIngest({
      registry: web.registry,
      members: web.members,
      queue: web.queue,
      itemFetcher: web.itemFetcher,
      files: web.files,
      documents: web.documents,
      images: web.images,
      domains,
      erasures: openErasureStore(storageFolder(storagePath, "domains")),
      backend,
      crawlerFolder: storageFolder(storagePath, "crawler"),
      rules: web.rules,
      policy: web.policy,
      defaultDomain,
      keepGoneDays: checks.keepGoneDays,
      // One worker is left for the other hosts.
      visitsPerHost: Math.max(checks.itemsAtOnce - 1, 1),
      ...timesOf(pace),
    });
    return ingest;
  };
}

async function verify(
  request: VerifyRequest,
  { repair }: { readonly repair: boolean },
  parts: VerifyParts,
  job: JobContext,
): Promise<VerifyResult> {
  return repair ? await repairDomain(request, parts, job) : (await verifyDomain(request, parts, job)).result;
}

async function takeAnswer(
  app: Pick<App, "searchableDocuments">,
  question: string,
  found: QueryAnswer,
  search: (text: string) => Promise<QueryAnswer>,
): ReturnType<Parameters<typeof createAnswers>[0]["take"]> {
  const passagesOf = ({ sources, words }: QueryAnswer): FoundFor<QuerySource> => ({ passages: sources, words });
  let considered = found.sources;
  const quotes = await searchAnswer([question], passagesOf(found), async (text) => {
    const again = await search(text);
    considered = again.sources;
    return passagesOf(again);
  });
  if (quotes.length === 0) return { sentences: [], considered: found.sources };
  const places = new Map(considered.map((source, place) => [source, place]));
  const sentences = quotes.map(async ({ text, passage }) => ({
    text,
    from: [places.get(passage) ?? 0],
    ...(await otherPage(text, passage, app)),
  }));
  return { sentences: await Promise.all(sentences), considered };
}

/** Enough for a passage and the text around it. */
const AROUND_PASSAGE = 20_000;

/** Returns the page of a sentence, if it is not the page on which its passage begins. */
async function otherPage(
  sentence: string,
  source: QuerySource,
  { searchableDocuments }: Pick<App, "searchableDocuments">,
): Promise<{ readonly page?: number }> {
  const { domainId, details } = source;
  if (!details?.page || domainId === "") return {};
  const { passage, ...key } = keyOfHit(domainId, source);
  try {
    const { part } = await searchableDocuments.read(key, { passage, limit: AROUND_PASSAGE });
    const page = pageOfSentence(sentence, part.text, details.page);
    return page === undefined || page === details.page ? {} : { page };
  } catch (error) {
    // It left meanwhile, or was found in an earlier generation.
    if (error instanceof NotFoundError) return {};
    throw error;
  }
}

async function* writeWith(
  model: ReturnType<OpenedBackend["writer"]>,
  asked: { readonly question: string; readonly sources: readonly QuerySource[]; readonly signal: AbortSignal },
  app: Pick<App, "searchableDocuments">,
): AsyncGenerator<AnswerSentence> {
  if (!model) return;
  const passages = asked.sources.map((source) => ({
    ...source,
    fileId: source.fileId as FileId,
    filename: source.name,
  }));
  for await (const sentence of writeAnswer(asked.question, passages, model, asked.signal)) {
    const [place = -1, ...others] = sentence.from;
    const source = others.length === 0 ? asked.sources[place] : undefined;
    // The model's words stand on no page: those that come closest do.
    const said = source && closestSentence(sentence.text, source.text);
    yield source && said ? { ...sentence, ...(await otherPage(said, source, app)) } : sentence;
  }
}

/** Crawls of one source say nothing of the others. */
const TOLD_CRAWLS = 10;

/** What the last crawl of each source said. */
interface Told {
  /** By source. */
  readonly troubles: ReadonlyMap<string, string>;
  readonly leftOut: number;
}

async function findTold(jobs: JobStore, domainId: DomainId): Promise<Told> {
  const isTelling = ({ object, dryRun, endedAt, result }: JobRecord): boolean =>
    object === domainId && !dryRun && endedAt !== "" && isJsonObject(result?.data);
  const crawls = await jobs.list({ router: "crawler", matching: isTelling, limit: TOLD_CRAWLS });
  const troubles = new Map<string, string>();
  let leftOut = 0;
  for (const { result } of crawls) {
    const { sources } = (result?.data ?? {}) as Partial<CrawlResult>;
    for (const source of Array.isArray(sources) ? sources : []) {
      if (troubles.has(source.source_id)) continue;
      troubles.set(source.source_id, source.error);
      leftOut += source.left_out ? countLeftOut(source.left_out) : 0;
    }
  }
  return { troubles, leftOut };
}

type ErasureVerb = "erase" | "erasures" | "allowErased" | "setHold" | "liftHold";

function erasureVerbs(parts: EngineParts): Pick<App, ErasureVerb> {
  return {
    erase: (request, job) => erase(request, parts, job),
    async erasures(domainId) {
      await parts.domains.get(domainId);
      return await parts.erasures.read(domainId);
    },
    allowErased: (domainId, item) => allowErased(domainId, item, parts),
    setHold: (request) => setHold(request, parts, new AbortController()),
    liftHold: (domainId, wanted) => liftHold(domainId, wanted, parts),
  };
}

function searchVerbs(
  parts: Parameters<typeof query>[1] & Parameters<typeof explainDocument>[1] & { readonly feedback: Feedback },
  searching: Searching,
): Pick<App, "query" | "explainDocument"> {
  return {
    async query(request, asking = {}) {
      const found = await searching(asking, () => query({ ...request, signal: asking.signal }, parts));
      if (found.sources.length === 0 && asking.principal) {
        parts.feedback.noteNothing(request.text, await askedDomains(request, parts), ownerOf(asking.principal));
      }
      return found;
    },
    explainDocument: (request, asking = {}) =>
      searching(asking, () => explainDocument({ ...request, signal: asking.signal }, parts)),
  };
}

/** The domains that a question was asked of as a whole; none for one that was narrowed, or of a store of its own. */
async function askedDomains(
  { domainId, vectorStoreId, filter, scope, generation, using }: QueryRequest,
  { domains }: Pick<EngineParts, "domains">,
): Promise<readonly DomainId[]> {
  const isNarrowed = filter !== undefined || generation !== undefined || using !== undefined;
  if (vectorStoreId !== undefined || isNarrowed || Object.keys(scope ?? {}).length > 0) return [];
  if (domainId !== undefined) return [domainId];
  return (await domains.list()).domains.map((one) => one.domainId);
}

function openSearchableDocuments(parts: SearchableParts, searching: Searching): App["searchableDocuments"] {
  const shown = createSearchableDocuments(parts);
  return { ...shown, read: (key, range, asking = {}) => searching(asking, () => shown.read(key, range)) };
}

function noneIfDamaged(error: unknown): readonly [] {
  if (error instanceof DamagedError) return [];
  throw error;
}

type DoctorVerb = "examine" | "examineSource" | "examineReaders";

function doctorVerbs(examined: Parameters<typeof examineWith>[0]): Pick<App, DoctorVerb> {
  return {
    examine: (domainId, signal) => examineWith(examined, domainId, signal),
    examineSource: (source, signal) => examineWith(examined, source, signal),
    examineReaders: examined.readers,
  };
}

type DomainVerb = "planRename" | "renameDomain" | "finishRenames" | "planDeletion" | "migrate";

function domainVerbs(parts: RenameParts): Pick<App, DomainVerb> {
  return {
    planRename: (rename, signal) => planRename(rename, parts, { signal }),
    renameDomain: (rename, job) => renameDomain(rename, parts, job),
    finishRenames: (log, signal, about) =>
      finishRenames(parts, { log, signal, owner: `process ${process.pid}` }, about),
    planDeletion: (domainId, options) => planDeletion(domainId, options, parts),
    migrate: (request, job) => migrate(request, parts, job),
  };
}

function generationVerbs(parts: EngineParts): Pick<App, "generations" | "rollback" | "release" | "difference"> {
  return {
    generations: (domainId) => viewGenerations(domainId, parts),
    rollback: (domainId, number, options) => rollback(domainId, number, parts, options),
    release: (domainId, options) => release(domainId, parts, options),
    difference: (domainId, between) => difference(domainId, between, parts),
  };
}

function openSchedule(
  { jobs, ...parts }: Pick<ScheduleParts, "domains" | "folder" | "states"> & { readonly jobs: JobStore },
  app: () => App,
): Schedule {
  return createSchedule({
    ...parts,
    busyWith: busyWith(jobs, { besides: WATCH_ACTION }),
    start: (id) => startCrawl(app(), id),
    wasCutOff: wasCutOff(jobs),
    audit: { begin: (change) => app().audit.begin(change) },
  });
}

/** Starts the same job as the crawl button of a page. */
async function startCrawl(app: App, domainId: DomainId): Promise<JobId> {
  const request = crawlRequest(domainId);
  await app.checkCrawl(request);
  const { start, work } = crawlJob(app, request, { dryRun: false });
  const endpoint = `/v2/crawler/crawl?domain_id=${domainId}&mode=incremental`;
  const { jobId } = await app.runner.start({ ...start, task: crawlTask(request), endpoint }, work);
  return jobId;
}

/** Logs how long the crawl waited for SharePoint. The tenant throttles the app as a whole, so waits of concurrent crawls are included. */
async function logWaits<T>(sharepoint: LazyConnection, job: JobContext, work: () => Promise<T>): Promise<T> {
  const before = sharepoint.waited();
  try {
    return await work();
  } finally {
    const after = sharepoint.waited();
    const seconds = Math.round((after.ms - before.ms) / 1000);
    if (seconds > 0) job.log(`Waited ${seconds} s for SharePoint (${after.pauses - before.pauses} pauses).`);
  }
}

const LIMITS = { atOnce: 4, waiting: 100 };

function createSearching(limits = LIMITS): Searching {
  const perKey = createKeyedLimiter(limits);
  return async ({ principal, signal }, work) => {
    if (!principal) return work();
    try {
      return await perKey.run(ownerOf(principal), work, signal);
    } catch (error) {
      if (!(error instanceof BusyError)) throw error;
      throw new BusyError(
        `Too many searches at once: ${limits.atOnce} are under way for this key, and ${limits.waiting} wait. Ask again when some are answered.`,
      );
    }
  };
}

/** Tells whether a job ended early without a user's request: its process was killed, or the server stopped. */
function wasCutOff(jobs: JobStore): (jobId: JobId) => Promise<boolean> {
  return async (jobId) => {
    try {
      const { state, result } = await jobs.get(jobId);
      return state === "cancelled" && result?.error !== CANCELLED_BY_USER;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  };
}

const REPORTS_AT_ONCE = 20;

/** Returns the map files of a source from the newest report that has them; undefined if none has, or it cannot be read. */
async function findArchivedMaps(reports: ReportStore, source: LedgerSource): Promise<ArchivedMaps | undefined> {
  const { domainId } = source;
  for (let offset = 0; ; offset += REPORTS_AT_ONCE) {
    const page = await reports.list({ type: "crawl", domainId, limit: REPORTS_AT_ONCE, offset });
    for (const report of page) {
      const listed = sourceIn(report, source);
      const holder = (listed?.["map_files_in"] as ReportId | undefined) ?? report.reportId;
      const held = holder === report.reportId ? report : await reports.get(holder).catch(() => undefined);
      const names = listed && held ? namesIn(held, source) : [];
      if (names.length === 0) continue;
      const files = await Promise.all(
        names.map(async (path) => ({
          name: path.slice(path.lastIndexOf("/") + 1),
          content: (await reports.file(holder, path)).content,
        })),
      );
      return { from: `the report '${holder}'`, files };
    }
    if (page.length < REPORTS_AT_ONCE) return undefined;
  }
}

function sourceIn({ json }: ReportSummary, { config }: LedgerSource): JsonObject | undefined {
  const sources = Array.isArray(json["sources"]) ? json["sources"].filter(isJsonObject) : [];
  return sources.find((one) => one["source_type"] === config.sourceType && one["source_id"] === config.sourceId);
}

function namesIn(report: ReportSummary, source: LedgerSource): string[] {
  const prefix = `${source.config.kind.folder}/${source.config.sourceId}/`;
  const names = sourceIn(report, source)?.["map_files"];
  return (Array.isArray(names) ? names : []).filter((name) => typeof name === "string" && name.startsWith(prefix));
}

const MAX_FILE_BYTES = 512 * 1024 * 1024;

interface Opened {
  readonly domains: DomainStore;
  readonly backend: Backend;
  readonly reports: ReportStore;
  readonly web: OpenedWeb;
  readonly trees: TreeConnections;
  readonly ledgers: Ledgers;
}

function openTrees(
  { storagePath, trees, variables }: Config,
  parts: Pick<TreeConnections, "roots" | "extractor" | "acceptedTypes" | "now">,
): TreeConnections {
  const { identityClientId } = trees;
  return { storagePath, identityClientId, credential: (name) => variables.read(name), ...parts };
}

function retentionRules({ trees }: Config): RetentionRules {
  const [hour, day] = [3_600_000, 86_400_000];
  return {
    graceRuns: trees.graceRuns,
    graceMs: trees.graceHours * hour,
    deletedMs: trees.keepDeletedDays * day,
    versions: trees.keepVersions,
    versionMs: trees.keepVersionDays * day,
  };
}

/** Collects what the verbs need. */
function openParts(config: Config, { domains, backend, reports, web, trees, ledgers }: Opened): EngineParts {
  const crawlerFolder = storageFolder(config.storagePath, "crawler");
  const domainsFolder = storageFolder(config.storagePath, "domains");
  const erasures = openErasureStore(domainsFolder);
  return {
    domains,
    backend,
    acceptedTypes: trees.acceptedTypes,
    maxFileBytes: MAX_FILE_BYTES,
    crawlerFolder,
    domainsFolder,
    archive: (archive) => reports.archive(archive),
    openSource: (run, wishes) => {
      const blocked = blockedIn(run, erasures);
      const options = { dryRun: false, ...wishes };
      return withoutErased(run.config.kind.open(run, { ...options, blocked }), run, blocked, erasures, options);
    },
    openMirror: (run) => new Mirror(crawlerFolder, sourceFolder(run.domainId, run.config)),
    openKnowledge: (run) => new KnowledgeBase(join(crawlerFolder, sourceFolder(run.domainId, run.config))),
    openConverter: (run) => run.config.kind.openConverter?.(),
    erasures,
    questions: openQuestionStore(domainsFolder),
    erasing: openErasing(config, domains),
    extractor: trees.extractor,
    retention: retentionRules(config),
    now: trees.now,
    itemRepository: () => web,
    ledgers,
    defaultVectorStoreId: config.search.defaultVectorStoreId,
    keepSupersededMs: config.keepSupersededDays * 24 * 3600 * 1000,
    costs: { pricing: pricingOf(config), prices: config.prices },
  };
}

/** How what is embedded is paid for. The built-in prices are those of OpenAI. */
function pricingOf({ backend, embeddings, prices }: Config): Pricing {
  if (backend.kind === "embedded") {
    if (embeddings.kind !== "endpoint") return { kind: "none" };
    const { model } = embeddings;
    return { kind: "tokens", model, dollarsPerMillion: prices.dollars.get(model) };
  }
  const isOther = backend.kind === "azure_openai" && prices.isBuiltIn;
  return { kind: "storage", dollarsPerGigabyteDay: isOther ? undefined : prices.dollars.get(STORAGE_PRICE) };
}
