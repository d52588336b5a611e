import type { App } from "../../app/app.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { JobId } from "../../contracts/ids.ts";
import { JOB_STATES, type Result } from "../../contracts/job.ts";
import { JOB_ORDERS, type JobPageRequest } from "../../jobs/list-jobs.ts";
import { toJobJson } from "../pages/job-fragments.ts";
import { jobPage, jobResultPage, jobsUi } from "../pages/job-pages.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { type Call, type Endpoint, endpoint, ok, okPart } from "../routing/endpoint.ts";
import { listing, pageFacts } from "../routing/listing.ts";
import { optional, required, withDefault } from "../routing/parameters.ts";
import { jobId, oneOf, trueOrFalse, words } from "../routing/values.ts";

const ACTIONS = ["pause", "resume", "cancel"] as const;

export function jobEndpoints(app: App): Endpoint[] {
  return [list(app), get(app), control(app), monitor(app), results(app), remove(app)];
}

function list(app: App): Endpoint {
  const { jobs } = app;
  return endpoint({
    path: "/v2/jobs",
    methods: ["GET"],
    formats: ["json", "html", "ui"],
    description: "Lists the jobs, newest first.",
    changes: null,
    query: {
      router: optional(words, "Only jobs of this router, for example crawler, or inventory with all below it."),
      state: optional(oneOf(JOB_STATES), "Only jobs in this state."),
      object: optional(words, "Only jobs about this, for example a domain id."),
      ...listing(JOB_ORDERS),
    },
    examples: ["?format=json", "?state=running", "?router=crawler&limit=50&format=html"],
    async run({ router, state, object, limit, offset, sort, filter }, call) {
      // A page always shows a part of the list.
      const size = limit ?? (call.format === "ui" ? PAGE_ROWS : undefined);
      const request = { router, state, object, words: filter, order: readOrder(sort), offset, limit: size };
      const { jobs: rows, total } = await jobs.page(request);
      return okPart({ rows: rows.map(toJobJson), page: pageFacts({ limit: size, offset }, rows.length, total) });
    },
    ui: (answer, args, frame) => jobsUi(app, answer, args, frame),
  });
}

/** Parses `sort`; its column was checked when it was read. */
function readOrder(sort: string | undefined): JobPageRequest["order"] {
  const by = JOB_ORDERS.find((order) => order === sort?.replace(/^-/, ""));
  return by && { by, downwards: sort?.startsWith("-") ?? false };
}

function get(app: App): Endpoint {
  return endpoint({
    path: "/v2/jobs/get",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Tells the state of one job.",
    changes: null,
    query: { job_id: required(jobId, "The job.") },
    examples: ["?job_id=jb_42", "?job_id=jb_42&format=html"],
    run: async ({ job_id }) => ok(toJobJson(await app.jobs.get(job_id))),
    html: ({ data }, _args, frame) => jobPage(app, data, frame),
  });
}

function control({ jobs }: App): Endpoint {
  return endpoint({
    path: "/v2/jobs/control",
    methods: ["GET"],
    formats: ["json"],
    description: "Asks a job to pause, resume or stop. The job follows between two items.",
    changes: "The state of the job.",
    query: {
      job_id: required(jobId, "The job."),
      action: required(oneOf(ACTIONS), "What it should do."),
      force: withDefault(trueOrFalse, false, "With action=cancel: ends a job whose process is gone, here and now."),
    },
    examples: ["?job_id=jb_42&action=pause", "?job_id=jb_42&action=cancel&force=true"],
    async run({ job_id, action, force }) {
      if (force && action !== "cancel") throw new BadInputError("'force' is accepted with action=cancel only.");
      const message = await jobs.control(job_id, action, { force });
      return ok({ job_id, action, message });
    },
  });
}

function monitor(app: App): Endpoint {
  const { jobs } = app;
  return endpoint({
    path: "/v2/jobs/monitor",
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    description:
      "Watches one job. As stream: every event from the first, as Server-Sent Events, until the job ends; with a Last-Event-ID header, from the event after that one.",
    changes: null,
    query: { job_id: required(jobId, "The job.") },
    examples: ["?job_id=jb_42", "curl -N '{origin}/v2/jobs/monitor?job_id=jb_42&format=stream'"],
    async run({ job_id }) {
      const [job, log] = await Promise.all([jobs.get(job_id), jobs.lastLog(job_id)]);
      return ok({ ...toJobJson(job), log });
    },
    html: ({ data }, _args, frame) => jobPage(app, data, frame),
    stream: ({ job_id }, call) => follow(jobs, job_id, call),
  });
}

async function follow(jobs: App["jobs"], id: JobId, call: Call): Promise<AsyncIterable<Uint8Array> | null> {
  const job = await jobs.get(id);
  const lastSeen = call.header("last-event-id");
  if (lastSeen === undefined || lastSeen === "") return jobs.follow(id, { signal: call.signal });
  if (!/^\d{1,15}$/.test(lastSeen)) throw new BadInputError("'Last-Event-ID' must be the number of an event.");
  const events = jobs.follow(id, { afterEvent: Number(lastSeen), signal: call.signal });
  return job.endedAt === "" && !job.stalled ? events : unlessEmpty(events);
}

/** Returns null for a client that has seen the last event of an ended or stalled job; otherwise it would reconnect for ever. */
async function unlessEmpty(events: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array> | null> {
  const iterator = events[Symbol.asyncIterator]();
  const first = await iterator.next();
  return first.done ? null : startingWith(first.value, iterator);
}

async function* startingWith(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    yield first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

function results({ jobs }: App): Endpoint {
  return endpoint({
    path: "/v2/jobs/results",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Returns what an ended job ended with.",
    changes: null,
    query: { job_id: required(jobId, "The job.") },
    examples: ["?job_id=jb_42"],
    async run({ job_id }): Promise<Result> {
      const { state, result } = await jobs.get(job_id);
      if (result === null) throw new BadInputError(`Results not available. Job '${job_id}' state is '${state}'.`);
      return result;
    },
    html: async (answer, { job_id }, frame) => jobResultPage(await jobs.get(job_id), answer, frame),
  });
}

function remove({ jobs }: App): Endpoint {
  return endpoint({
    path: "/v2/jobs/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html"],
    description: "Deletes a job that has ended: its log and its result.",
    changes: "Removes the job file.",
    role: "admin",
    query: {
      job_id: required(jobId, "The job."),
      dry_run: withDefault(trueOrFalse, false, "true only returns the job."),
    },
    examples: ["?job_id=jb_42"],
    async run({ job_id, dry_run }) {
      const job = dry_run ? await jobs.get(job_id) : await jobs.remove(job_id);
      return ok({ ...toJobJson(job), dry_run, job_dry_run: job.dryRun });
    },
  });
}
