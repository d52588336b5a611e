import type { App } from "../../app/app.ts";
import { rebuildIndexJob } from "../../app/jobs.ts";
import { NotFoundError } from "../../contracts/errors.ts";
import { dryRun } from "../routing/dry-run.ts";
import { type Endpoint, endpoint, ok, type RawAnswer } from "../routing/endpoint.ts";
import { optional, required, withDefault } from "../routing/parameters.ts";
import { domainId, oneOf, trueOrFalse, type Value } from "../routing/values.ts";
import { itemEndpoints, itemId } from "./ingest-items.ts";
import { toSummaryJson } from "./item-codec.ts";

/** The registry in the grammar of all other endpoints; `/api` is the same for clients of the functions. */
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
      // The default domain is created by the first address; until then it is empty, not unknown.
      const isDefault = domain_id === app.config.web.defaultDomain;
      if (domain_id !== undefined && !isDefault) await app.domains.get(domain_id);
      return ok(toSummaryJson(await app.ingest.summary(domain_id)));
    },
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

/** Only these are told to be pictures. Anything else, a drawing with scripts in it above all, is bytes to keep. */
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
    content: once(bytes),
    bytes: bytes.length,
    mediaType,
    fileName: `${id}.${extension ?? "bin"}`,
    lasting: true,
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}
