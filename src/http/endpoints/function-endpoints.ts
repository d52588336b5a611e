import type { App } from "../../app/app.ts";
import { rebuildIndexJob } from "../../app/jobs.ts";
import type { Domain } from "../../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { DomainStatus } from "../../engine/domain-status.ts";
import type { GenerationsView } from "../../engine/generations.ts";
import { REGISTERED_SOURCE, type Registered } from "../../engine/ingest/ingest.ts";
import { sayUnregistered } from "../../engine/ingest/registered-addresses.ts";
import { type Answer, type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { bareEnvelope } from "../routing/envelope.ts";
import { optional, required, withDefault } from "../routing/parameters.ts";
import { domainId, oneOf, text, trueOrFalse, words } from "../routing/values.ts";
import { FILE_SOURCE, itemId, REBUILD_MODES, REBUILD_WORDS } from "./ingest-endpoints.ts";
import { type SummaryJson, toRegisteredJson, toSummaryJson } from "./item-codec.ts";
import { searchFunction } from "./search-function.ts";

const shared = { formats: ["json"], envelope: bareEnvelope } as const;

/** The registry functions, with the addresses and field names of their specification. */
export function functionEndpoints(app: App): Endpoint[] {
  return [
    addUrlDocument(app),
    addFileDocument(app),
    reindexItem(app),
    rebuildIndex(app),
    searchFunction(app),
    searchStatus(app),
  ];
}

function addUrlDocument(app: App): Endpoint {
  const path = "/api/AddUrlDocument";
  return endpoint({
    ...shared,
    path,
    description:
      "Registers an address, which is then looked at soon, and again whenever it is due. The same address, however it is written, is one item.",
    ...registering(app),
    body: {
      url: required(words, "The address, https or http."),
      title: withDefault(text, "", "What to call it; without it, what the page calls itself."),
      force: withDefault(trueOrFalse, false, "true looks at it whatever is known, and indexes it again."),
      domain_id: domainToIndexIn(app),
      includeImages: withDefault(trueOrFalse, false, "true keeps the pictures of the page, too."),
    },
    examples: [
      `curl '{origin}${path}' -H 'content-type: application/json' -d '{"url":"https://docs.example.com/guide","force":true}'`,
    ],
    async run({ body }) {
      const { url, title, domain_id, force, includeImages } = body;
      const added = await app.ingest.add({ url, title, domainId: domain_id, force, includeImages });
      return accepted(added, added.isNew ? "The address is registered." : "The address was registered before.");
    },
  });
}

function addFileDocument(app: App): Endpoint {
  const path = "/api/AddFileDocument";
  return endpoint({
    ...shared,
    path,
    description:
      "Registers one file on the server's own disks, below a folder of INGEST_FILE_ROOTS, or one blob of Azure Storage. It is then looked at soon, and again whenever it is due, as a web address is.",
    ...registering(app),
    body: {
      source: required(words, FILE_SOURCE),
      force: withDefault(trueOrFalse, false, "true reads it whatever is known, and indexes it again."),
      domain_id: domainToIndexIn(app),
    },
    examples: [
      `curl '{origin}${path}' -H 'content-type: application/json' -d '{"source":"https://account.blob.core.windows.net/reports/plan.pdf"}'`,
    ],
    async run({ body: { source, domain_id, force } }) {
      const added = await app.ingest.addFile({ source, domainId: domain_id, force });
      return accepted(added, added.isNew ? "The file is registered." : "The file was registered before.");
    },
  });
}

/** The part that the endpoints for registering share. */
function registering({ config }: App) {
  const { defaultDomain } = config.web;
  return {
    methods: ["POST"],
    changes: `The registry and the queue. The first one for ${defaultDomain} creates that domain.`,
    query: {},
    later: "It is queued and looked at soon.",
  } as const;
}

function domainToIndexIn({ config }: App) {
  return optional(domainId, `The domain to index it in; without it, ${config.web.defaultDomain}.`);
}

function accepted(result: Registered, words: string): Answer<object> {
  return { ...ok({ ...toRegisteredJson(result), message: `${words} It is queued and looked at soon.` }), later: true };
}

function reindexItem(app: App): Endpoint {
  const path = "/api/ReindexItem";
  return endpoint({
    ...shared,
    path,
    methods: ["POST"],
    description: "Has one item looked at and indexed again, whatever is known of it.",
    changes: "The item's reindexGeneration, and the queue.",
    query: {},
    body: {
      id: optional(itemId, "The item."),
      source: optional(words, "Instead of the id: its address, however it is written."),
      domain_id: optional(
        domainId,
        `With 'source': where it is registered; without it, ${app.config.web.defaultDomain}.`,
      ),
      force: withDefault(trueOrFalse, true, "There is nothing else to ask for."),
    },
    examples: [`curl '{origin}${path}' -H 'content-type: application/json' -d '{"id":"url_k7gxn3","force":true}'`],
    later: "It is queued and looked at soon.",
    async run({ body: { id, source, domain_id, force } }) {
      if (!force) throw new BadInputError("'force' must be true: an item looks after itself otherwise.");
      if ((id === undefined) === (source === undefined)) throw new BadInputError("Give 'id' or 'source'.");
      const wanted = id !== undefined ? { id } : { source: source ?? "", ...(domain_id && { domainId: domain_id }) };
      return accepted(await app.ingest.reindex(wanted), "The request is noted.");
    },
  });
}

function rebuildIndex(app: App): Endpoint {
  const path = "/api/RebuildIndex";
  return endpoint({
    ...shared,
    path,
    methods: ["POST"],
    description: `Looks at every registered item of a domain again, as a job whose id it answers with. ${REBUILD_WORDS}`,
    changes: "The registry and the queue; with blueGreen also the mirror and the index, as a crawl does.",
    query: {},
    body: {
      domain_id: withDefault(domainId, app.config.web.defaultDomain, "The domain."),
      force: withDefault(trueOrFalse, false, "true looks whatever is known, and indexes everything again."),
      mode: withDefault(oneOf(REBUILD_MODES), "soft", "How."),
    },
    examples: [`curl '{origin}${path}' -H 'content-type: application/json' -d '{"domain_id":"DEMO","mode":"soft"}'`],
    later: "The job has begun.",
    async run({ body: { domain_id, force, mode } }, call) {
      const { start, work } = await rebuildIndexJob(app, { domainId: domain_id, force, mode }, { dryRun: false });
      const { jobId } = await app.runner.start({ ...start, endpoint: call.endpoint }, work);
      const monitor = `/v2/jobs/monitor?job_id=${jobId}`;
      const message = `The job ${jobId} has begun. ${monitor} tells how it goes.`;
      return { ...ok({ job_id: jobId, domain_id, mode, force, monitor, message }), later: true };
    },
  });
}

function searchStatus(app: App): Endpoint {
  return endpoint({
    ...shared,
    path: "/api/SearchStatus",
    methods: ["GET"],
    description:
      "Tells how a domain stands: the generation that readers are shown and the newest one, its documents, its items by state, and of those looked at in the last day the share that changed (changeRate) and that failed (errorRate). An item is Indexed when readers are shown it as it was last seen.",
    changes: null,
    query: { domain_id: withDefault(domainId, app.config.web.defaultDomain, "The domain.") },
    examples: ["?domain_id=DEMO"],
    bareGet: "answer",
    run: async ({ domain_id }) => ok(await readSearchStatus(app, domain_id)),
  });
}

/**
 * Returns the response of `/api/SearchStatus`. The default domain is created with the first address; before that it is empty, not unknown.
 */
async function readSearchStatus(app: App, domainId: DomainId): Promise<object> {
  const domain = await app.domains.get(domainId).catch((error: unknown) => {
    if (error instanceof NotFoundError && domainId === app.config.web.defaultDomain) return undefined;
    throw error;
  });
  const { heldBack, ...summary } = toSummaryJson(await app.ingest.summary(domainId));
  const standing = domain && (await app.standing(domain));
  // Remote backends only search by words and vectors together.
  const isOwn = app.config.backend.kind === "embedded";
  const documentCount = standing?.documents ?? 0;
  const generations = domain && (await readGenerations(app, domain));
  const { shown = null, newest = null, pinned = false } = generations ?? {};
  return {
    indexName: domain?.vectorStoreName || domainId,
    domain_id: domainId,
    documentCount,
    status: heldBack.some((one) => one.newestGeneration > 0) ? "RolledBack" : sayStatus(documentCount, summary),
    lastUpdated: generations?.kept.find(({ number }) => number === shown)?.committedAt ?? "",
    shownGeneration: shown,
    newestGeneration: newest,
    pinned,
    persistentStorage: true,
    features: { keywordSearch: isOwn, vectorSearch: isOwn, hybridSearch: true, semanticSearch: false },
    ...summary,
    error: standing?.error || sayLost(standing, summary),
  };
}

/** Reports documents that are not in the registry (it was lost, or never had them): they are found, but not updated. */
function sayLost(standing: DomainStatus | undefined, { itemCount }: Pick<SummaryJson, "itemCount">): string {
  const { documents = 0 } = standing?.sources.find(({ sourceId }) => sourceId === REGISTERED_SOURCE) ?? {};
  if (documents <= itemCount) return "";
  const { detail, remedy } = sayUnregistered(documents - itemCount);
  return `${detail} ${remedy}`;
}

function sayStatus(documents: number, { byStatus }: Pick<SummaryJson, "byStatus">): "Empty" | "Updating" | "Ready" {
  if (byStatus.Pending + byStatus.Crawled > 0) return "Updating";
  return documents === 0 ? "Empty" : "Ready";
}

/** undefined: only the embedded index has generations, and a store that does not exist yet has none. */
async function readGenerations(app: App, { domainId, vectorStoreId }: Domain): Promise<GenerationsView | undefined> {
  if (vectorStoreId === "") return undefined;
  try {
    return await app.generations(domainId);
  } catch (error) {
    if (error instanceof BadInputError || error instanceof NotFoundError) return undefined;
    throw error;
  }
}
