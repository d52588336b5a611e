import type { App } from "../../app/app.ts";
import { eraseJob } from "../../app/erase-job.ts";
import { ownerOf } from "../../contracts/access.ts";
import type { ErasedItem, Hold } from "../../contracts/erasure.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { erasedPage } from "../pages/erased-page.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { dryRun, optional, required, withDefault } from "../routing/parameters.ts";
import { domainId, sourceId, text, trueOrFalse, words } from "../routing/values.ts";

const PATH = "/v2/documents";

/** Erasing, what was erased, and holds. */
export function eraseEndpoints(app: App): Endpoint[] {
  return [erase(app), list(app), allow(app), hold(app), lift(app)];
}

const documentWords = {
  document: optional(
    words,
    "A document: its path below the root of its source, its name, address, document id or file id.",
  ),
  item_id: optional(words, "An item, by its id: works, too, where only earlier generations have it."),
  source_id: optional(sourceId, "Its source; needed only where several have such a document."),
};

function erase(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/erase`,
    methods: ["POST", "GET"],
    formats: ["json", "html", "stream"],
    description:
      "Removes documents from everywhere: mirror, texts and versions, ledger and exports, every generation of the index, answers that quote them, reports, logs. They are blocked from being crawled again, and a signed receipt tells what was removed where. Copies with the same content are named. Runs as a job. A hold refuses it.",
    changes: "Everything that is kept of the documents; there is no way back. Nothing at their source.",
    role: "admin",
    destroys: () => true,
    unaudited: ["document", "search"],
    query: {
      domain_id: required(domainId, "The domain."),
      ...documentWords,
      search: optional(
        words,
        "Instead: all documents of the domain in whose text, title or name this occurs, in any generation.",
      ),
      copies: withDefault(
        trueOrFalse,
        false,
        "true also erases documents with the same content, in whatever domain, and files attached over the protocol.",
      ),
      reason: withDefault(
        text,
        "",
        "Stands in the list of erased items and in the receipt. It must not name the document.",
      ),
      confirm_deletes: withDefault(trueOrFalse, false, "true lets a search erase more than 25 documents."),
      dry_run: dryRun,
    },
    examples: [
      "?domain_id=DEMO&document=handbook/travel.md&dry_run=true",
      "?domain_id=DEMO&search=Jane%20Doe&copies=true&dry_run=true",
      `curl -X POST '{origin}${PATH}/erase?domain_id=DEMO&item_id=doc_k7gxn3&reason=request%2012'`,
    ],
    job: (args, { principal }) =>
      eraseJob(
        app,
        {
          domainId: args.domain_id,
          document: args.document,
          itemId: args.item_id,
          search: args.search,
          sourceId: args.source_id,
          copies: args.copies,
          reason: args.reason,
          confirmDeletes: args.confirm_deletes,
          by: ownerOf(principal),
        },
        { dryRun: args.dry_run },
      ),
  });
}

function list(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/erased`,
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Lists what was erased in a domain and is blocked from being crawled again, and what is held. Ids and hashes only: neither list has names.",
    changes: null,
    query: { domain_id: required(domainId, "The domain.") },
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&format=html"],
    run: async ({ domain_id }) => ok(await listOf(app, domain_id)),
    html: ({ data }, { domain_id }, frame) => erasedPage(data, domain_id, frame),
  });
}

function allow(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/allow`,
    methods: ["POST", "GET"],
    formats: ["json", "html"],
    description: "Lets an erased item be crawled again: the next crawl takes it if the source still has it.",
    changes: "The list of erased items; the receipt stays.",
    role: "admin",
    destroys: () => true,
    query: {
      domain_id: required(domainId, "The domain."),
      item: required(words, "The item, or the id of the erasing (er_…), as the list of erased items has it."),
    },
    examples: [`curl -X POST '{origin}${PATH}/allow?domain_id=DEMO&item=doc_k7gxn3'`],
    async run({ domain_id, item }) {
      await app.allowErased(domain_id, item);
      return ok(await listOf(app, domain_id));
    },
    html: ({ data }, { domain_id }, frame) => erasedPage(data, domain_id, frame),
  });
}

function hold(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/hold`,
    methods: ["POST", "GET"],
    formats: ["json", "html"],
    description:
      "Holds a document, or the whole domain: it can be neither erased nor purged, nor the domain deleted, until the hold is lifted. Whoever tries is told who set it.",
    changes: "The holds of the domain.",
    role: "admin",
    unaudited: ["document"],
    query: {
      domain_id: required(domainId, "The domain; without a document, all of it is held."),
      ...documentWords,
      reason: withDefault(text, "", "Why, for those who are refused."),
    },
    examples: [`curl -X POST '{origin}${PATH}/hold?domain_id=DEMO&document=handbook/travel.md&reason=case%207'`],
    async run(args, { principal }) {
      const { document, item_id, source_id, reason } = args;
      const request = { document, itemId: item_id, sourceId: source_id, reason, by: ownerOf(principal) };
      await app.setHold({ domainId: args.domain_id, ...request });
      return ok(await listOf(app, args.domain_id));
    },
    html: ({ data }, { domain_id }, frame) => erasedPage(data, domain_id, frame),
  });
}

function lift(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/lift_hold`,
    methods: ["POST", "GET"],
    formats: ["json", "html"],
    description: "Lifts a hold.",
    changes: "The holds of the domain.",
    role: "admin",
    destroys: () => true,
    query: {
      domain_id: required(domainId, "The domain; without an item, the hold on all of it is lifted."),
      source_id: optional(sourceId, "The source of the item."),
      item: withDefault(text, "", "The item, as the list of holds has it."),
    },
    examples: [`curl -X POST '{origin}${PATH}/lift_hold?domain_id=DEMO&source_id=docs&item=doc_k7gxn3'`],
    async run({ domain_id, source_id, item }) {
      if (item !== "" && source_id === undefined)
        throw new BadInputError("Missing 'source_id': the source of the item.");
      await app.liftHold(domain_id, { sourceId: source_id ?? "", item });
      return ok(await listOf(app, domain_id));
    },
    html: ({ data }, { domain_id }, frame) => erasedPage(data, domain_id, frame),
  });
}

/** What is blocked and what is held now: the answer of whatever changes it, too. */
export interface ErasedList {
  readonly erased: readonly ErasedJson[];
  readonly holds: readonly HoldJson[];
}

async function listOf(app: App, id: DomainId): Promise<ErasedList> {
  const { erased, holds } = await app.erasures(id);
  return { erased: erased.map(toErasedJson), holds: holds.map(toHoldJson) };
}

export interface ErasedJson {
  readonly erasure_id: string;
  readonly source_type: string;
  readonly source_id: string;
  readonly item: string;
  readonly content_hashes: readonly string[];
  readonly reason: string;
  readonly by: string;
  readonly started_utc: string;
  /** "": it was interrupted, and the next crawl finishes it. */
  readonly finished_utc: string;
}

export interface HoldJson {
  readonly source_id: string;
  /** "" for the whole domain. */
  readonly item: string;
  readonly reason: string;
  readonly by: string;
  readonly set_utc: string;
}

function toErasedJson(item: ErasedItem): ErasedJson {
  return {
    erasure_id: item.erasureId,
    source_type: item.sourceType,
    source_id: item.sourceId,
    item: item.item,
    content_hashes: item.contentHashes,
    reason: item.reason,
    by: item.by,
    started_utc: item.startedAt,
    finished_utc: item.finishedAt,
  };
}

function toHoldJson({ sourceId: source_id, item, reason, by, at }: Hold): HoldJson {
  return { source_id, item, reason, by, set_utc: at };
}
