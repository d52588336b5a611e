import type { App } from "../../app/app.ts";
import { rebuildIndexJob } from "../../app/jobs.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import { INGEST_STATUSES, ITEM_SORTS, type ItemQuery, type ItemSort } from "../../contracts/registry.ts";
import { oneChunk } from "../../lib/text.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { ingestItemPage, ingestPage, ingestStatusPage } from "../pages/ingest-pages.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { type Answer, type Endpoint, endpoint, ok, okPart, type RawAnswer } from "../routing/endpoint.ts";
import { listing, pageFacts } from "../routing/listing.ts";
import { type Arguments, dryRun, optional, required, withDefault } from "../routing/parameters.ts";
import { domainId, oneOf, text, trueOrFalse, type Value, words } from "../routing/values.ts";
import { type ItemJson, toItemJson, toItemViewJson, toRegisteredJson, toSummaryJson } from "./item-codec.ts";

/** The registry with the conventions of the other `/v2` endpoints; `/api` is the same for clients of the functions. */
export function ingestEndpoints(app: App): Endpoint[] {
  return [...itemEndpoints(app), rebuild(app), status(app), image(app)];
}

export const REBUILD_MODES = ["soft", "blueGreen"] as const;

export const REBUILD_WORDS =
  "soft makes every registered item of the domain due and queues it: workers look at each, and only what changed is indexed again. blueGreen looks at all of them here and now, then crawls the whole domain in full mode, and readers change over in one moment: to one new generation of the embedded index, to a new vector store at OpenAI and Azure.";

function rebuild(app: App): Endpoint {
  const { defaultDomain } = app.config.web;
  return endpoint({
    path: "/v2/ingest/rebuild",
    methods: ["POST", "GET"],
    formats: ["json", "html", "stream"],
    description: `Looks at every registered item of a domain again. Runs as a job. ${REBUILD_WORDS}`,
    changes: "The registry and the queue; with blueGreen also the mirror and the index, as a crawl does.",
    destroys: ({ mode }) => mode === "blueGreen",
    query: {
      domain_id: withDefault(domainId, defaultDomain, "The domain."),
      force: withDefault(trueOrFalse, false, "true looks whatever is known, and indexes everything again."),
      mode: withDefault(oneOf(REBUILD_MODES), "soft", "How."),
      dry_run: dryRun,
    },
    examples: [
      "?domain_id=DEMO&dry_run=true",
      "curl -N -X POST '{origin}/v2/ingest/rebuild?domain_id=DEMO&format=stream'",
    ],
    job: ({ domain_id, force, mode, dry_run }) =>
      rebuildIndexJob(app, { domainId: domain_id, force, mode }, { dryRun: dry_run }),
  });
}

function status(app: App): Endpoint {
  return endpoint({
    path: "/v2/ingest/status",
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Counts the items of the registry by state, what is due, and what the last day brought.",
    changes: null,
    query: { domain_id: optional(domainId, "Only items of this domain.") },
    examples: ["?format=json", "?domain_id=DEMO"],
    async run({ domain_id }) {
      // The default domain is created with the first address; before that it is empty, not unknown.
      const isDefault = domain_id === app.config.web.defaultDomain;
      if (domain_id !== undefined && !isDefault) await app.domains.get(domain_id);
      return ok(toSummaryJson(await app.ingest.summary(domain_id)));
    },
    html: ({ data }, { domain_id }, frame) => ingestStatusPage(data, domain_id, frame),
  });
}

const imageId: Value<string> = {
  accepts: "the id of a picture, as img_ and letters and digits",
  schema: { type: "string", pattern: "^img_[A-Za-z0-9]{1,128}$" },
  read: (raw) => (typeof raw === "string" && /^img_[A-Za-z0-9]{1,128}$/.test(raw) ? raw : undefined),
};

function image(app: App): Endpoint {
  return endpoint({
    path: "/v2/ingest/images/get",
    methods: ["GET"],
    formats: ["raw"],
    description: "A picture of a page, as it is kept here.",
    changes: null,
    query: {
      item_id: required(itemId, "The page."),
      image_id: required(imageId, "The picture, as /v2/ingest/items/get lists it."),
      size: withDefault(oneOf(["full", "thumbnail"]), "full", "How large."),
    },
    examples: ["?item_id=url_k7gxn3&image_id=img_8e2f&size=thumbnail"],
    async raw({ item_id, image_id, size }) {
      const read = await app.ingest.images.read(item_id, image_id, size);
      if (!read) throw new NotFoundError(`Item '${item_id}' has no picture '${image_id}'.`);
      return pictureAnswer(image_id, read);
    },
  });
}

/** Only these types are served as pictures. Anything else, above all an SVG with scripts, is served as a download. */
const PICTURE_TYPES: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/webp": "webp",
  "image/gif": "gif",
};

function pictureAnswer(
  id: string,
  { bytes, mimeType }: { readonly bytes: Uint8Array; readonly mimeType: string },
): RawAnswer {
  const extension = PICTURE_TYPES[mimeType];
  const mediaType = extension === undefined ? "application/octet-stream" : mimeType;
  return {
    content: oneChunk(bytes),
    bytes: bytes.length,
    mediaType,
    fileName: `${id}.${extension ?? "bin"}`,
    lasting: true,
  };
}

const PATH = "/v2/ingest/items";

export const itemId: Value<ItemId> = {
  accepts: "the id of an item, as url_ and letters and digits",
  schema: { type: "string", pattern: "^(url|file)_[A-Za-z0-9]{1,64}$" },
  read: (raw) => (typeof raw === "string" && /^(url|file)_[A-Za-z0-9]{1,64}$/.test(raw) ? (raw as ItemId) : undefined),
};

export const FILE_SOURCE =
  "The absolute path of a file, or the https address of a blob. A signature in the address is dropped: it is neither kept nor used.";

/** The registry: the state of every address. */
function itemEndpoints(app: App): Endpoint[] {
  return [list(app), get(app), create(app), update(app), remove(app)];
}

const listQuery = {
  status: optional(oneOf(INGEST_STATUSES), "Only items in this state."),
  host: optional(words, "Only items of this host."),
  domain_id: optional(domainId, "Only items of this domain."),
  ...listing(ITEM_SORTS),
};

export type ItemsQuery = Arguments<typeof listQuery>;

function list(app: App): Endpoint {
  return endpoint({
    path: PATH,
    methods: ["GET"],
    formats: ["json", "html", "ui"],
    description:
      "Lists the registry: every address that was registered or met by a crawl, with what is known of it. `filter` looks into addresses and titles.",
    changes: null,
    query: listQuery,
    examples: ["?format=json", "?status=Error&format=json", "?host=docs.example.com&sort=-lastChanged&limit=50"],
    run: async (args, { format }) => {
      const limit = args.limit ?? (format === "ui" ? PAGE_ROWS : undefined);
      const { items, total } = await app.ingest.items(queryOf({ ...args, limit }));
      return okPart({ rows: items.map(toItemJson), page: pageFacts({ ...args, limit }, items.length, total) });
    },
    ui: (answer: Answer<readonly ItemJson[]>, args, frame) => ingestPage(app, answer, args, frame),
  });
}

function queryOf({ status, host, domain_id, sort, filter, offset, limit }: ItemsQuery): ItemQuery {
  const narrowing = withoutAbsent({
    limit,
    statuses: status && [status],
    host,
    domainId: domain_id,
    text: filter === "" ? undefined : filter,
    sort: sort?.replace(/^-/, "") as ItemSort | undefined,
    descending: sort?.startsWith("-"),
  });
  return { offset, ...narrowing };
}

function get(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/get`,
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Tells everything about one item: what the server said, when it is looked at next, where it is indexed, its pictures and its history.",
    changes: null,
    query: { item_id: required(itemId, "The item.") },
    examples: ["?item_id=url_k7gxn3", "?item_id=url_k7gxn3&format=html"],
    run: async ({ item_id }) => ok(toItemViewJson(await app.ingest.item(item_id))),
    html: async ({ data }, _args, frame) => ingestItemPage(data, frame),
  });
}

function create(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/create`,
    methods: ["POST"],
    formats: ["json", "html"],
    description:
      "Registers an address, or a file. It is looked at soon, and again whenever it is due; the same address, however it is written, is one item.",
    changes: "The registry, the domain's member list and the queue. The domain is created if it is the default one.",
    query: { dry_run: dryRun },
    body: {
      url: optional(words, "The address, https or http."),
      file: optional(words, `Instead of the address: a file or a blob. ${FILE_SOURCE}`),
      title: withDefault(text, "", "What to call it; without it, what the page calls itself."),
      domain_id: optional(domainId, `The domain to index it in; without it, ${app.config.web.defaultDomain}.`),
      force: withDefault(trueOrFalse, false, "true looks at it whatever is known, and indexes it again."),
      include_images: withDefault(trueOrFalse, false, "true keeps the pictures of the page, too."),
    },
    examples: [
      `curl '{origin}${PATH}/create?dry_run=true' -H 'content-type: application/json' -d '{"url":"https://docs.example.com/guide"}'`,
    ],
    async run({ body, dry_run }) {
      const { url, file, title, domain_id: domainId, force, include_images: includeImages } = body;
      const options = { dryRun: dry_run };
      if (url !== undefined && file === undefined)
        return ok(toRegisteredJson(await app.ingest.add({ url, title, domainId, force, includeImages }, options)));
      if (file === undefined || url !== undefined) throw new BadInputError("Give 'url' or 'file'.");
      if (title !== "" || includeImages) throw new BadInputError("Files have neither 'title' nor 'include_images'.");
      return ok(toRegisteredJson(await app.ingest.addFile({ source: file, domainId, force }, options)));
    },
  });
}

function update(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/update`,
    methods: ["PUT"],
    formats: ["json", "html"],
    description: "Has one item looked at and indexed again, whatever is known of it.",
    changes: "The item's reindexGeneration, and the queue.",
    query: { item_id: optional(itemId, "The item."), dry_run: dryRun },
    body: {
      item_id: optional(itemId, "The item, unless the address names it."),
      force: withDefault(trueOrFalse, true, "There is nothing else to change."),
    },
    examples: [`curl -X PUT '{origin}${PATH}/update?item_id=url_k7gxn3&dry_run=true'`],
    async run({ item_id, dry_run, body }) {
      const id = item_id ?? body.item_id;
      if (id === undefined) throw new BadInputError("Missing 'item_id'.");
      if (!body.force) throw new BadInputError("'force' must be true: an item looks after itself otherwise.");
      return ok(toRegisteredJson(await app.ingest.reindex({ id }, { dryRun: dry_run })));
    },
  });
}

function remove(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/delete`,
    methods: ["DELETE", "GET"],
    formats: ["json", "html"],
    description:
      "Takes an item out of a domain. Its document leaves search with the next crawl of the domain; its record stays while another domain has it.",
    changes: "The registry.",
    query: {
      item_id: required(itemId, "The item."),
      domain_id: optional(domainId, "The domain; without it, the only one that has it."),
      dry_run: dryRun,
    },
    examples: ["?item_id=url_k7gxn3&dry_run=true"],
    async run({ item_id, domain_id, dry_run }) {
      const view = await app.ingest.item(item_id);
      const domain = domain_id ?? onlyDomainOf(view.members.map((member) => member.domainId));
      await app.ingest.remove(item_id, domain, { dryRun: dry_run });
      return ok(toItemViewJson(view));
    },
  });
}

function onlyDomainOf(domains: readonly DomainId[]): DomainId {
  const [only, ...others] = new Set(domains);
  if (only === undefined) throw new NotFoundError("This item is in no domain.");
  if (others.length === 0) return only;
  throw new BadInputError(`Missing 'domain_id': this item is in ${[only, ...others].join(", ")}.`);
}
