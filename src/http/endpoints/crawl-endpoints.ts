import type { App } from "../../app/app.ts";
import { cleanupMetadataJob, crawlJob, crawlTask } from "../../app/jobs.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import {
  CRAWL_MODES,
  crawlRequest,
  crawlScopes,
  DEFAULT_RETRY_BATCHES,
  RETRY_BATCHES,
  STEPS,
  type Step,
  VISIBILITIES,
} from "../../engine/crawl-request.ts";
import { newPlanId } from "../../engine/stored-plans.ts";
import type { JobWork } from "../../jobs/job-runner.ts";
import { streamZip } from "../../lib/zip-writer.ts";
import { CRAWL_ACTIONS, type CrawlerQuery, crawlerPage } from "../pages/crawler-page.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { type Arguments, dryRun, optional, required, withDefault } from "../routing/parameters.ts";
import { domainId, jobId, oneOf, sourceId, trueOrFalse, vectorStoreId, wholeNumber } from "../routing/values.ts";

const AS_JOB =
  "Runs as a job that goes on when the client hangs up; json and html answer at its end, stream tells its events as they happen.";

/** The parameters of a crawl and of each of its steps. */
type Query = ReturnType<typeof queryFor>;

function queryFor(kinds: SourceKinds) {
  return {
    domain_id: required(domainId, "The domain to crawl."),
    mode: withDefault(oneOf(CRAWL_MODES), "full", "full does everything again, incremental only what changed."),
    scope: withDefault(oneOf(crawlScopes(kinds)), "all", "The kind of sources to crawl."),
    source_type: optional(oneOf(kinds.types), "The same by the key of the sources in domain.json; instead of scope."),
    source_id: optional(sourceId, "Only this source of the domain."),
    dry_run: dryRun,
    plan: optional(
      oneOf(["store"]),
      "store makes it a dry run whose plan is kept: the answer names its plan_id, for /v2/crawler/apply.",
    ),
    retry_batches: withDefault(
      wholeNumber(RETRY_BATCHES),
      DEFAULT_RETRY_BATCHES,
      "How often an item that fails is tried in this run; 1 tries none again.",
    ),
    retry_failed: withDefault(trueOrFalse, false, "true tries files in 03_failed again although they did not change."),
    confirm_deletes: withDefault(
      trueOrFalse,
      false,
      "true carries out removals that are held because there are too many.",
    ),
    confirm_worse: withDefault(
      trueOrFalse,
      false,
      "true makes additions and changes visible although the questions of the domain are answered worse with them.",
    ),
    swap: withDefault(
      trueOrFalse,
      false,
      "true fills a fresh vector store and changes over to it at the end (OpenAI and Azure; needs mode=full, scope=all).",
    ),
    force: withDefault(
      trueOrFalse,
      false,
      "true extracts, cuts and embeds everything anew, also what the index has with the same content; needs mode=full.",
    ),
    visibility: withDefault(
      oneOf(VISIBILITIES),
      "crawl",
      "crawl shows readers what changed in all sources in one moment, at its end; source shows each source when it is in, as the first crawl of a domain does. With OpenAI and Azure changes show as they are made.",
    ),
    checksum: withDefault(
      trueOrFalse,
      false,
      "true reads every file: of folders and the like those at the source, whatever size, time and ETag say, and of all sources those on our disk. Every blob and object is downloaded, which its service may charge for.",
    ),
    check_hashes: withDefault(trueOrFalse, false, "The older name of checksum."),
  };
}

function destroys({ mode, confirm_deletes, confirm_worse, plan }: Arguments<Query>): boolean {
  if (plan === "store") return false;
  return mode === "full" || confirm_deletes || confirm_worse;
}

interface StepEndpoint {
  readonly action: string;
  readonly steps: readonly Step[];
  readonly description: string;
  readonly changes: string;
}

const ENDPOINTS: readonly StepEndpoint[] = [
  {
    action: "crawl",
    steps: STEPS,
    description: `Brings a domain in step with its sources: download, process, embed. ${AS_JOB}`,
    changes:
      "The domain's files below crawler/, its vector store, and a report. A dry run changes none and tells the plan.",
  },
  {
    action: "download_data",
    steps: ["download"],
    description: `Downloads what the sources of a domain have, and takes away what they no longer have. ${AS_JOB}`,
    changes: "The domain's files and map files below crawler/. A dry run changes none and tells the plan.",
  },
  {
    action: "process_data",
    steps: ["process"],
    description: `Turns downloaded list exports and site pages into documents, and keeps the text of files from folders and the like; other files need none of it. ${AS_JOB}`,
    changes:
      "The domain's files in 02_embedded/, the knowledge base of its folders, and its map files. A dry run changes none and tells the plan.",
  },
];

export function crawlEndpoints(app: App): Endpoint[] {
  return [
    crawlerRoot(app),
    ...ENDPOINTS.map((step) => stepEndpoint(app, step)),
    embedData(app),
    cleanup(app),
    maps(app),
  ];
}

function pageQueryFor(kinds: SourceKinds) {
  return {
    domain_id: optional(domainId, "The domain to begin with."),
    step: withDefault(oneOf(CRAWL_ACTIONS), "crawl", "What to begin with."),
    mode: withDefault(oneOf(CRAWL_MODES), "incremental", "The mode to begin with."),
    scope: withDefault(oneOf(crawlScopes(kinds)), "all", "The kind of sources to begin with."),
    source_id: optional(sourceId, "The source to begin with."),
    dry_run: withDefault(trueOrFalse, false, "Whether to begin with a dry run."),
    confirm_worse: withDefault(trueOrFalse, false, "Whether to begin with confirming worse answers."),
    retry_failed: withDefault(trueOrFalse, false, "Whether to begin with trying failed files again."),
    confirm_deletes: withDefault(trueOrFalse, false, "Whether to begin with confirming removals."),
    force: withDefault(trueOrFalse, false, "Whether to begin with making everything anew."),
    visibility: withDefault(oneOf(VISIBILITIES), "crawl", "When readers see it, to begin with."),
    checksum: withDefault(trueOrFalse, false, "Whether to begin with reading every file."),
    job_id: optional(jobId, "The job to watch; of a dry run, what it would do is shown."),
  };
}

/** Serves only the page. Its address holds the form's initial values, and the job to watch. */
function crawlerRoot(app: App): Endpoint {
  return endpoint({
    path: "/v2/crawler",
    methods: ["GET"],
    formats: ["ui"],
    description: "The page to crawl from: shows the plan of a dry run, what is running, and how the domains stand.",
    changes: null,
    query: pageQueryFor(app.domains.kinds),
    examples: ["?format=ui", "?format=ui&domain_id=DEMO&dry_run=true", "?format=ui&job_id=jb_42"],
    run: async () => ok({}),
    ui: (_answer, args, frame) => crawlerPage(app, readPageQuery(args), frame),
  });
}

function readPageQuery(args: Arguments<ReturnType<typeof pageQueryFor>>): CrawlerQuery {
  return {
    form: {
      domainId: args.domain_id ?? "",
      action: args.step,
      mode: args.mode,
      scope: args.scope,
      sourceId: args.source_id ?? "",
      dryRun: args.dry_run,
      confirmDeletes: args.confirm_deletes,
      confirmWorse: args.confirm_worse,
      retryFailed: args.retry_failed,
      force: args.force,
      visibility: args.visibility,
      checksum: args.checksum,
    },
    jobId: args.job_id,
  };
}

function stepEndpoint(app: App, { action, steps, description, changes }: StepEndpoint): Endpoint {
  const path = `/v2/crawler/${action}`;
  return endpoint({
    ...shape(path),
    description,
    changes,
    query: queryFor(app.domains.kinds),
    destroys,
    job: (args) => checkedJob(app, steps, args),
  });
}

function embedData(app: App): Endpoint {
  const path = "/v2/crawler/embed_data";
  const store = optional(
    vectorStoreId,
    "Embeds into this store instead of the domain's own, with a map file of its own; it must exist and be no other domain's.",
  );
  return endpoint({
    ...shape(path),
    description: `Embeds the documents of a domain into its vector store. ${AS_JOB}`,
    changes:
      "The vector store, vectorstore_map.csv and files_metadata.json. A dry run changes none and tells the plan.",
    query: { ...queryFor(app.domains.kinds), vector_store_id: store },
    destroys,
    job: (args) => checkedJob(app, ["embed"], args, args.vector_store_id),
  });
}

function cleanup(app: App): Endpoint {
  return endpoint({
    path: "/v2/crawler/cleanup_metadata",
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    description:
      "Takes entries out of a domain's files_metadata.json whose file is not in the vector store any more, or whose item is in no source any more. Custom properties of items that are still there stay. Runs as a job, and waits for crawls that are embedding.",
    changes: "domains/<domain_id>/files_metadata.json; nothing while the store or a map file cannot be read.",
    destroys: () => true,
    query: {
      domain_id: required(domainId, "The domain."),
      dry_run: withDefault(trueOrFalse, false, "true only tells what would be removed."),
    },
    examples: ["?domain_id=DEMO&dry_run=true", "?domain_id=DEMO"],
    job: ({ domain_id, dry_run }) => cleanupMetadataJob(app, domain_id, { dryRun: dry_run }),
  });
}

function maps(app: App): Endpoint {
  const path = "/v2/crawler/maps";
  return endpoint({
    path,
    methods: ["GET"],
    formats: ["zip"],
    description:
      "Returns the map files of a domain's sources as a zip: what is known of every item, as CSV, as it is now. Made while it is sent.",
    changes: null,
    query: {
      domain_id: required(domainId, "The domain."),
      source_id: optional(sourceId, "Only the map files of this source."),
    },
    examples: [
      "?domain_id=DEMO&source_id=docs&format=zip",
      `curl -OJ '{origin}${path}?domain_id=DEMO&source_id=docs&format=zip'`,
    ],
    async raw({ domain_id, source_id }) {
      const files = await app.mapFiles(domain_id, source_id);
      const fileName = `maps_${[domain_id, source_id].filter(Boolean).join("_")}.zip`;
      return { bytes: undefined, content: streamZip(files, Date.now()), mediaType: "application/zip", fileName };
    },
  });
}

function shape(path: string): Pick<Endpoint, "path" | "methods" | "formats" | "examples"> {
  return {
    path,
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    examples: [
      "?domain_id=DEMO&mode=incremental",
      "?domain_id=DEMO&mode=incremental&dry_run=true",
      `curl -N '{origin}${path}?domain_id=DEMO&mode=incremental&format=stream'`,
    ],
  };
}

/** Checks the request and returns the job: a request that cannot be fulfilled leaves no job behind. */
async function checkedJob(
  app: App,
  steps: readonly Step[],
  args: Arguments<Query>,
  store?: VectorStoreId,
): Promise<JobWork> {
  const request = crawlRequest(args.domain_id, {
    steps,
    mode: args.mode,
    scope: scopeOf(args, app.domains.kinds),
    sourceId: args.source_id,
    vectorStoreId: store,
    swap: args.swap,
    force: args.force,
    visibility: args.visibility,
    confirmDeletes: args.confirm_deletes,
    confirmWorse: args.confirm_worse,
    retryBatches: args.retry_batches,
    retryFailed: args.retry_failed,
    checksum: args.checksum || args.check_hashes,
    ...(args.plan === "store" && { storePlan: newPlanId() }),
  });
  await app.checkCrawl(request);
  const { start, work } = crawlJob(app, request, { dryRun: args.dry_run || args.plan === "store" });
  return { start: { ...start, task: crawlTask(request) }, work };
}

function scopeOf(
  { scope, source_type: type }: Pick<Arguments<Query>, "scope" | "source_type">,
  kinds: SourceKinds,
): string {
  if (type === undefined) return scope;
  const meant = kinds.get(type).scope;
  if (scope === "all" || scope === meant) return meant;
  throw new BadInputError(`'scope=${scope}' and 'source_type=${type}' contradict each other; give one of them.`);
}
