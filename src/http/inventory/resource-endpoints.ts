import type { App } from "../../app/app.ts";
import { BadInputError, explain } from "../../contracts/errors.ts";
import type { Result } from "../../contracts/job.ts";
import type { Steps } from "../../inventory/inventory.ts";
import type { JobWork } from "../../jobs/job-runner.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import type { Frame, Html } from "../pages/layout.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { requireRole } from "../routing/failure.ts";
import { type Listing, listing } from "../routing/listing.ts";
import { type Arguments, dryRun, optional, type Parameters, required, withDefault } from "../routing/parameters.ts";
import { oneOf } from "../routing/values.ts";
import { backendId } from "./backend-values.ts";
import {
  actionPath,
  type BackendObject,
  type CreateAction,
  type GetAction,
  type ListAction,
  type ObjectRef,
  type PageResource,
  type RemoveAction,
  type Resource,
  type ResourceIdentity,
  type UpdateAction,
} from "./resource.ts";
import { detailPage, listPage } from "./resource-pages.ts";

/** Returns the endpoints of one resource, as far as it declares them. */
export function resourceEndpoints<
  Row extends BackendObject,
  One extends Partial<BackendObject>,
  CreateFields extends Parameters,
  UpdateFields extends Parameters,
  Mode extends string,
>(app: App, resource: Resource<Row, One, CreateFields, UpdateFields, Mode>): Endpoint[] {
  const { create, update } = resource;
  return [
    listEndpoint(app, resource),
    ...(create ? [createEndpoint(app, resource, create)] : []),
    getEndpoint(app, resource),
    ...(update ? [updateEndpoint(app, resource, update)] : []),
    removeEndpoint(app, resource),
  ];
}

function listEndpoint<Row extends BackendObject, One extends Partial<BackendObject>>(
  app: App,
  resource: PageResource<Row, One> & { readonly list: ListAction<Row> },
): Endpoint {
  const { list, page } = resource;
  const show = async (
    answer: Answer<readonly Row[]>,
    { body: _body, ...args }: Listing & { readonly body: unknown },
    frame: Frame,
  ): Promise<Awaited<Html>> => {
    const heading = await page.heading?.(app, storeIdIn(args));
    return listPage(resource, { answer, listing: args, frame, heading });
  };
  return endpoint({
    path: actionPath(resource.path),
    methods: ["GET"],
    formats: list.pageFormat === "ui" ? ["json", "html", "ui"] : ["json", "html"],
    description: list.description,
    changes: null,
    ...(resource.page.forReaders && { forReaders: true }),
    query: { ...storeParameter(resource), ...listing(list.sortable) },
    examples: list.examples,
    run: ({ limit, offset, sort, filter, ...rest }, { format, principal }) => {
      const shown = limit ?? (format === list.pageFormat ? PAGE_ROWS : undefined);
      return list.run(app, { limit: shown, offset, sort, filter }, { storeId: storeIdIn(rest), principal });
    },
    ...(list.pageFormat === "ui" ? { ui: show } : { html: show }),
  });
}

function getEndpoint<Row extends BackendObject, One extends Partial<BackendObject>>(
  app: App,
  resource: PageResource<Row, One> & { readonly get: GetAction<One> },
): Endpoint {
  const { description, examples, read } = resource.get;
  return endpoint({
    path: actionPath(resource.path, "get"),
    methods: ["GET"],
    formats: ["json", "html"],
    description,
    changes: null,
    ...(resource.page.forReaders && { forReaders: true }),
    query: refParameters(resource),
    examples,
    run: async (args, call) => ok(await read(app, refIn(resource, args, call))),
    html: ({ data }, _args, frame) => detailPage(resource, data, frame),
  });
}

function createEndpoint<Row extends BackendObject, One extends Partial<BackendObject>, Fields extends Parameters>(
  app: App,
  resource: PageResource<Row, One>,
  create: CreateAction<Fields>,
): Endpoint {
  const { description, changes, examples, role, object, fields, showsObject, prepare } = create;
  const change = ({ body, dry_run }: ChangeArguments<Fields>, { principal }: Call): Change => {
    const { fields: wanted, apply } = prepare(app, body, principal);
    const name = textIn(body, "name");
    const work = oneStep(`Creating ${resource.noun} '${name}'`, { object, ...wanted }, apply);
    return { resource, action: "create", object: name, dryRun: dry_run, work };
  };
  return endpoint({
    path: actionPath(resource.path, "create"),
    methods: ["POST"],
    formats: showsObject ? ["json", "html"] : ["json", "html", "stream"],
    description,
    changes,
    ...(role && { role }),
    ...(resource.page.forReaders && { forReaders: true }),
    query: { dry_run: dryRun },
    body: fields,
    examples,
    run: async (args, call) => runNow(change(args, call)),
    ...(showsObject
      ? { html: ({ data }: Answer<unknown>, _args: unknown, frame: Frame) => detailPage(resource, data as One, frame) }
      : { job: async (args: ChangeArguments<Fields>, call: Call) => toJob(change(args, call)) }),
  });
}

function updateEndpoint<Fields extends Parameters>(
  app: App,
  resource: ResourceIdentity,
  update: UpdateAction<Fields>,
): Endpoint {
  const { idParameter, noun } = resource;
  const change = async (args: ChangeArguments<Fields>): Promise<Change> => {
    const { [idParameter]: idInBody, ...body } = args.body as Record<string, unknown>;
    const id = textIn(args, idParameter) || idInBody;
    if (typeof id !== "string") throw new BadInputError(`Missing '${idParameter}'.`);
    const before = await update.read(app, id);
    const { fields, apply } = update.prepare(app, id, body as Arguments<Fields>);
    const label = `Updating ${noun} '${before.name ?? ""}' (ID='${id}')`;
    const work = oneStep(label, { ...before, ...fields }, apply);
    return { resource, action: "update", object: id, dryRun: args.dry_run, work };
  };
  const idIn = (other: "body" | "query"): Parameters => ({
    [idParameter]: optional(backendId, `The ${noun}, here or in the ${other}.`),
  });
  return endpoint({
    path: actionPath(resource.path, "update"),
    methods: ["PUT"],
    formats: ["json", "html", "stream"],
    description: update.description,
    changes: update.changes,
    query: { ...idIn("body"), dry_run: dryRun },
    body: { ...idIn("query"), ...update.fields },
    examples: update.examples,
    run: async (args) => runNow(await change(args as ChangeArguments<Fields>)),
    job: async (args) => toJob(await change(args as ChangeArguments<Fields>)),
  });
}

function removeEndpoint<Mode extends string>(
  app: App,
  resource: ResourceIdentity & { readonly remove: RemoveAction<Mode> },
): Endpoint {
  const { description, changes, examples, role, runsAs, action = "delete", modes, prepare } = resource.remove;
  const change = async (args: Readonly<Record<string, unknown>>, call: Call): Promise<Change> => {
    const ref = refIn(resource, args, call);
    const [standard] = modes?.choices[0] ?? [];
    const mode = args["mode"] as Mode;
    if (mode !== standard && modes?.role) requireRole(call.principal, modes.role);
    const work = await prepare(app, ref, mode);
    return { resource, action, object: ref.id, dryRun: args["dry_run"] === true, work };
  };
  return endpoint({
    path: actionPath(resource.path, "delete"),
    methods: ["DELETE", "GET"],
    formats: runsAs === "request" ? ["json", "html"] : ["json", "html", "stream"],
    description,
    changes,
    ...(role && { role }),
    query: { ...refParameters(resource), ...modeParameter(resource.remove), dry_run: dryRun },
    examples,
    ...(runsAs !== "job" && { run: async (args: object, call: Call) => runNow(await change({ ...args }, call)) }),
    ...(runsAs !== "request" && { job: async (args: object, call: Call) => toJob(await change({ ...args }, call)) }),
  });
}

interface ChangeArguments<Fields extends Parameters> {
  readonly body: Arguments<Fields>;
  readonly dry_run: boolean;
}

function modeParameter<Mode extends string>({ modes }: RemoveAction<Mode>): Parameters {
  const values = modes?.choices.map(([value]) => value) ?? [];
  const [standard] = values;
  return modes && standard ? { mode: withDefault(oneOf(values), standard, modes.description) } : {};
}

function storeParameter({ inStore }: ResourceIdentity): Parameters {
  return inStore ? { vector_store_id: required(backendId, "The vector store.") } : {};
}

function refParameters(resource: ResourceIdentity): Parameters {
  return { ...storeParameter(resource), [resource.idParameter]: required(backendId, `The ${resource.noun}.`) };
}

function refIn({ idParameter }: ResourceIdentity, args: object, { principal }: Call): ObjectRef {
  return { id: textIn(args, idParameter), storeId: storeIdIn(args), principal };
}

/** Returns "" if the resource is in no vector store, and so has no such parameter. */
function storeIdIn(args: object): string {
  return textIn(args, "vector_store_id");
}

function textIn(args: object, name: string): string {
  const value: unknown = Object.entries(args).find(([key]) => key === name)?.[1];
  return typeof value === "string" ? value : "";
}

/** A checked change to the backend, to be made in a job or while the client waits. */
export interface Change {
  readonly resource: Pick<ResourceIdentity, "path">;
  readonly action: string;
  readonly object: string;
  readonly dryRun: boolean;
  readonly work: (steps: Steps) => Promise<Result>;
}

export function toJob({ resource: { path }, action, object, dryRun: dry, work }: Change): JobWork {
  const router = `inventory/${path.split("/")[0]}`;
  return { start: { router, action, object, dryRun: dry }, work: async (job) => markDryRun(await work(job), job) };
}

/** Runs without a job: there is no log, and a single request is not paused or cancelled. */
async function runNow({ dryRun: dry, work }: Change): Promise<Answer<unknown>> {
  const steps: Steps = {
    dryRun: dry,
    signal: new AbortController().signal,
    log: () => undefined,
    checkpoint: async () => undefined,
  };
  return markDryRun(await work(steps), steps);
}

/** Marks the result of a dry run, so that the plan is not mistaken for what happened. */
function markDryRun(result: Result, { dryRun }: Pick<Steps, "dryRun">): Result {
  return dryRun && isJsonObject(result.data) ? { ...result, data: { ...result.data, dry_run: true } } : result;
}

/** Returns a change of one step; a dry run returns `planned`. */
export function oneStep(
  label: string,
  planned: unknown,
  apply: () => Promise<unknown>,
): (steps: Steps) => Promise<Result> {
  return async (steps) => {
    await steps.checkpoint();
    steps.log(`[ 1 / 1 ] ${label}...`);
    if (steps.dryRun) {
      steps.log("  Dry run: nothing was changed.");
      return { ok: true, error: "", data: planned };
    }
    try {
      const data = await apply();
      steps.log("  OK.");
      return { ok: true, error: "", data };
    } catch (error) {
      steps.log(`  ERROR: ${explain(error)}`);
      throw error;
    }
  };
}
