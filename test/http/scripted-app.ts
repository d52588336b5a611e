import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { openAnswerModels } from "../../src/app/answer-model.ts";
import { createAnswers } from "../../src/app/answers.ts";
import type { App } from "../../src/app/app.ts";
import { busyWith } from "../../src/app/busy-with.ts";
import { readConfig } from "../../src/app/config.ts";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import { createUploads } from "../../src/app/uploads.ts";
import type { Wire } from "../../src/contracts/backend.ts";
import { NotFoundError } from "../../src/contracts/errors.ts";
import type { DomainId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { JobContext } from "../../src/contracts/job.ts";
import { createDomainStore } from "../../src/domains/domain-store.ts";
import { openErasureStore } from "../../src/domains/erasure-store.ts";
import { openQuestionStore } from "../../src/domains/question-store.ts";
import type { CrawlRequest, CrawlResult } from "../../src/engine/crawl-request.ts";
import { planDeletion } from "../../src/engine/delete-domain.ts";
import { createDocuments } from "../../src/engine/documents.ts";
import { createQuestions } from "../../src/engine/edit-questions.ts";
import { createFailures } from "../../src/engine/failures.ts";
import { createFeedback } from "../../src/engine/feedback.ts";
import type { Ingest } from "../../src/engine/ingest/ingest.ts";
import type { QueryAnswer, QueryRequest } from "../../src/engine/query.ts";
import { createPlans } from "../../src/engine/stored-plans.ts";
import { createCertificates } from "../../src/engine/verify/stored-certificates.ts";
import type { RequestTimeouts } from "../../src/http/middleware/request-timeouts.ts";
import { serveHttp } from "../../src/http/serve-http.ts";
import { createInventory } from "../../src/inventory/create-inventory.ts";
import { withResponseLog } from "../../src/inventory/log-responses.ts";
import { createResponseLog } from "../../src/inventory/response-log.ts";
import { createJobRunner } from "../../src/jobs/job-runner.ts";
import { createJobStore } from "../../src/jobs/job-store.ts";
import { isErrno } from "../../src/lib/atomic-file.ts";
import { createReportStore } from "../../src/reports/report-store.ts";
import { createAuditLog } from "../../src/security/audit-log.ts";
import { openAccess } from "../../src/security/open-access.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";

/** What the engine does is the test's to say; stores, jobs and server are the real ones. */
export interface Script {
  crawl: (request: CrawlRequest, job: JobContext) => Promise<CrawlResult>;
  query: (request: QueryRequest) => Promise<QueryAnswer>;
  wire: Wire;
  ingest: Ingest;
}

export interface Served {
  readonly url: string;
  readonly app: App;
  readonly script: Script;
  readonly folder: string;
  readonly logged: string[];
  /** The bytes of the job's file. */
  readJobFile(jobId: string): Promise<Buffer>;
  close(): Promise<void>;
}

const NO_GENERATIONS = { shown: 0, shownId: "", newest: 0, newestId: "", pinned: false, kept: [] };

/** A registry in which nothing was ever registered. */
const NOTHING_KNOWN: Ingest = {
  add: async () => assert.fail("nobody says what comes of it"),
  addFile: () => assert.fail("nobody asks"),
  idOf: () => assert.fail("nobody asks"),
  reindex: async () => assert.fail("nobody says what comes of it"),
  rebuild: async ({ domainId }) => ({ domainId: domainId ?? ("INGEST" as DomainId), queued: 0 }),
  remove: async () => undefined,
  items: async () => ({ items: [], total: 0 }),
  item: async (id) => {
    throw new NotFoundError(`Item '${id}' does not exist.`);
  },
  images: { of: async () => [], read: async () => undefined },
  summary: async () => ({
    total: 0,
    byStatus: { Pending: 0, Crawled: 0, Indexed: 0, Error: 0, OutOfScope: 0, Gone: 0 },
    due: 0,
    oldestDue: "",
    oldestChecked: "",
    checkedLastDay: 0,
    changedLastDay: 0,
    failedLastDay: 0,
    heldBack: [],
  }),
  sweep: async () => 0,
  workOne: async () => false,
  behind: async () => [],
};

export interface ScriptedOptions {
  readonly keepAliveMs?: number;
  readonly timeouts?: RequestTimeouts;
  readonly settings?: Readonly<Record<string, string>>;
}

export async function serveScripted(options: ScriptedOptions = {}): Promise<Served> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-http-"));
  const jobsFolder = join(folder, "jobs");
  const script: Script = { crawl: countToThree, query: findNothing, wire: echo, ingest: NOTHING_KNOWN };
  const runner = createJobRunner({ jobsFolder, controlPollMs: 20 });
  const domains = createDomainStore({
    domainsFolder: join(folder, "domains"),
    crawlerFolder: join(folder, "crawler"),
    kinds: BUILT_IN_KINDS,
  });
  const config = readConfig({ PERSISTENT_STORAGE_PATH: folder, ...options.settings });
  const log = createResponseLog(join(folder, "inventory"));
  const wire = withResponseLog((request, call) => script.wire(request, call), log);
  const client = wireClient(wire);
  const app: App = {
    config,
    domains,
    jobs: createJobStore(jobsFolder),
    runner,
    reports: createReportStore(join(folder, "reports")),
    access: openAccess({
      ...config.access,
      folder: join(folder, "security"),
      adminKey: config.access.adminKey.reveal(),
    }),
    audit: createAuditLog(join(folder, "audit")),
    answerModels: openAnswerModels({ config, folder: join(folder, "index"), use: async () => undefined, servers: [] }),
    answers: createAnswers({
      noteNothing: async () => undefined,
      query: (request, asking) => script.query({ ...request, signal: asking?.signal }),
      writer: () => "",
      take: async () => ({ sentences: [], considered: [] }),
      write: () => assert.fail("there is no model"),
    }),
    inventory: createInventory({ client, clientFor: () => client, responseLog: log }),
    get ingest() {
      return script.ingest;
    },
    schedule: { nextRunAt: () => "", start: () => ({ stop: () => undefined }) },
    async checkCrawl({ domainId, sourceId }) {
      const { sources } = await domains.get(domainId);
      if (sourceId !== undefined && !sources.some((source) => source.sourceId === sourceId)) {
        throw new NotFoundError(`Source '${sourceId}' does not exist.`);
      }
    },
    plans: createPlans({
      domains,
      ledgers: openTestLedgers(join(folder, "crawler")),
      costs: { pricing: { kind: "none" }, prices: config.prices },
    }),
    otherStores: async () => [],
    leases: { acquire: () => assert.fail("nobody works") },
    checkPlaces: async () => undefined,
    examineReaders: () => ({ subject: "Readers of files", outcome: "ok", detail: "", remedy: "" }),
    crawl: (request, job) => script.crawl(request, job),
    cleanupMetadata: async (domainId, job) => ({
      domain_id: domainId,
      dry_run: job.dryRun,
      removed: 1,
      remaining: 2,
      problem: "",
    }),
    maintain: async ({ domainId = "" }, { dryRun }) => ({
      domain_id: domainId,
      dry_run: dryRun,
      freed: [{ kind: "staging", count: 2, bytes: 2048 }],
      things: [],
      things_more: 2,
      left: [],
      problems: [],
    }),
    verify: () => assert.fail("nobody verifies"),
    certificates: createCertificates({ domainsFolder: join(folder, "domains"), now: () => new Date() }),
    uploads: createUploads(
      {
        domains,
        erasures: openErasureStore(join(folder, "domains")),
        ledgers: openTestLedgers(join(folder, "crawler")),
        acceptedTypes: new Set(["md"]),
      },
      () => app,
    ),
    questions: createQuestions({
      domains,
      backend: { openIndex: async () => undefined },
      questions: openQuestionStore(join(folder, "domains")),
      statementsIn: () => [],
    }),
    migrate: async (_request, { dryRun }) => ({ dry_run: dryRun, sources: [], problems: [] }),
    query: (request) => script.query(request),
    explainDocument: async ({ domainId, query }) => ({ domainId, query, documents: [] }),
    mapFiles: async () => [],
    standing: async () => ({
      documents: 0,
      failed: 0,
      acknowledged: 0,
      empty: 0,
      rolledBackTo: null,
      error: "",
      sources: [],
    }),
    planRename: async ({ from }) => ({ domain: await domains.get(from), changes: [] }),
    renameDomain: async ({ from }) => ({ domain: await domains.get(from), changes: [] }),
    finishRenames: async () => undefined,
    planDeletion: (domainId, deletion) =>
      planDeletion(domainId, deletion, {
        domains,
        domainsFolder: join(folder, "domains"),
        crawlerFolder: join(folder, "crawler"),
        defaultVectorStoreId: "",
        backend: { commits: "atomic", openIndex: async () => undefined, deleteVectorStore: async () => undefined },
        itemRepository: () => assert.fail("domains with web sites are not deleted here"),
        ledgers: openTestLedgers(join(folder, "crawler")),
        erasures: openErasureStore(join(folder, "domains")),
        busyWith: busyWith(createJobStore(jobsFolder)),
      }),
    searchableDocuments: {
      list: async () => ({ documents: [], next: undefined, notes: [] }),
      read: async () => {
        throw new NotFoundError("There is no such document.");
      },
      recent: async () => [],
      original: async () => undefined,
      versionOf: async () => undefined,
      revision: async () => "",
    },
    feedback: createFeedback({
      domains,
      ledgers: openTestLedgers(join(folder, "crawler")),
      now: () => new Date(),
      failures: { list: async (domainId) => ({ domainId, sources: [], groups: [], acknowledged: [] }) },
      leftOut: async () => 0,
    }),
    failures: createFailures({
      domains,
      crawlerFolder: join(folder, "crawler"),
      ledgers: openTestLedgers(join(folder, "crawler")),
      itemRepository: () => assert.fail("no registry here"),
      now: () => new Date(),
      troubles: async () => new Map(),
    }),
    documents: createDocuments({
      domains,
      crawlerFolder: join(folder, "crawler"),
      ledgers: openTestLedgers(join(folder, "crawler")),
      backend: { openIndex: async () => undefined },
    }),
    erase: async () => assert.fail("nothing is erased here"),
    erasures: (domainId) => openErasureStore(join(folder, "domains")).read(domainId),
    allowErased: async () => assert.fail("nothing is erased here"),
    setHold: async () => assert.fail("nothing is held here"),
    liftHold: async () => assert.fail("nothing is held here"),
    generations: async () => NO_GENERATIONS,
    rollback: async () => NO_GENERATIONS,
    release: async () => NO_GENERATIONS,
    async *difference() {},
    async *examine() {},
    async *examineSource() {},
    endDeadJobs: async () => undefined,
    work: async () => undefined,
    wire,
    close: () => runner.stop("Server stopped."),
    [Symbol.asyncDispose]: () => app.close(),
  };
  const logged: string[] = [];
  const { keepAliveMs, timeouts } = options;
  const server = await serveHttp(app, {
    host: "127.0.0.1",
    port: 0,
    log: (line) => logged.push(line),
    ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
    ...(timeouts && { timeouts }),
  });
  return {
    url: server.url,
    app,
    script,
    folder,
    logged,
    readJobFile: (jobId) => readJobFile(jobsFolder, jobId),
    async close() {
      await app.close();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function wireClient(wire: Script["wire"]): OpenAI {
  return new OpenAI({
    baseURL: "http://backend.invalid",
    apiKey: "none",
    maxRetries: 0,
    fetch: (input, init) => wire(new Request(input, init)),
  });
}

export async function countToThree(request: CrawlRequest, job: JobContext): Promise<CrawlResult> {
  for (let at = 1; at <= 3; at++) {
    await job.checkpoint();
    job.log(`[ ${at} / 3 ] Processing file '${at}.docx'...`);
  }
  return crawlResult(request, job);
}

export function crawlResult(request: CrawlRequest, job: JobContext, problems: readonly string[] = []): CrawlResult {
  return {
    domain_id: request.domainId,
    mode: request.mode,
    scope: request.scope,
    steps: request.steps,
    report_id: "",
    dry_run: job.dryRun,
    vector_store_id: "vs_1",
    sources: [],
    problems,
  };
}

async function findNothing({ text, vectorStoreId }: QueryRequest): Promise<QueryAnswer> {
  return { query: text, vectorStoreId: vectorStoreId ?? ("vs_default" as VectorStoreId), sources: [] };
}

async function echo(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  let bytes = 0;
  for await (const chunk of request.body ?? []) bytes += chunk.length;
  return Response.json({ method: request.method, path: pathname + search, bytes });
}

/** The job may be renaming its file to its last state at this moment, so a lost name is looked up again. */
async function readJobFile(jobsFolder: string, jobId: string): Promise<Buffer> {
  for (;;) {
    const names = await readdir(jobsFolder, { recursive: true });
    const name = names.find((candidate) => candidate.includes(`[${jobId}]`));
    try {
      if (name !== undefined) return await readFile(join(jobsFolder, name));
    } catch (error) {
      if (!isErrno(error, "ENOENT")) throw error;
    }
  }
}
