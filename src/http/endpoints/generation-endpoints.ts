import type { App } from "../../app/app.ts";
import type { Generation, GenerationChange } from "../../contracts/search-index.ts";
import type { GenerationsView } from "../../engine/generations.ts";
import { differencePage, generationsPage, type ShownDifference, type ShownGenerations } from "../pages/domain-pages.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { required, withDefault } from "../routing/parameters.ts";
import { domainId, trueOrFalse, wholeNumber } from "../routing/values.ts";

const NUMBER = wholeNumber({ from: 0, to: 999_999_999 });
const PATH = "/v2/domains/generations";
/** Further changes are left out, and the response says so. */
const MAX_CHANGES = 10_000;

/** Lists what readers of a domain saw, and goes back to it. */
export function generationEndpoints(app: App): Endpoint[] {
  return [list(app), rollback(app), release(app), difference(app)];
}

function list(app: App): Endpoint {
  return endpoint({
    path: PATH,
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Lists the generations of a domain that are kept, newest first: each is what readers saw after a commit. Those of one crawl have the same `crawl`, and all but its last are `intermediate`.",
    changes: null,
    query: { domain_id: required(domainId, "The domain.") },
    examples: ["?domain_id=DEMO"],
    run: async ({ domain_id }) => ok(toJson(await app.generations(domain_id))),
    html: ({ data }, { domain_id }, frame) => generationsPage(data, domain_id, frame),
  });
}

function rollback(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/rollback`,
    methods: ["POST", "GET"],
    formats: ["json", "html"],
    description:
      "Shows readers an earlier generation, at once. Crawls go on as ever, and readers go on seeing that generation until it is released.",
    changes: "Which generation of the domain's vector store readers see.",
    destroys: () => true,
    query: {
      domain_id: required(domainId, "The domain."),
      generation: required(NUMBER, "The number of the generation to go back to."),
      dry_run: withDefault(trueOrFalse, false, "true only tells whether it could be done."),
    },
    examples: [
      "?domain_id=DEMO&generation=3&dry_run=true",
      `curl -X POST '{origin}${PATH}/rollback?domain_id=DEMO&generation=3'`,
    ],
    run: async ({ domain_id, generation, dry_run }) =>
      ok(toJson(await app.rollback(domain_id, generation, { dryRun: dry_run }))),
    html: ({ data }, { domain_id }, frame) => generationsPage(data, domain_id, frame),
  });
}

function release(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/release`,
    methods: ["POST", "GET"],
    formats: ["json", "html"],
    description: "Ends a rollback: readers see the newest generation again, at once.",
    changes: "Which generation of the domain's vector store readers see.",
    destroys: () => true,
    query: {
      domain_id: required(domainId, "The domain."),
      dry_run: withDefault(trueOrFalse, false, "true only tells whether it could be done."),
    },
    examples: ["?domain_id=DEMO&dry_run=true", `curl -X POST '{origin}${PATH}/release?domain_id=DEMO'`],
    run: async ({ domain_id, dry_run }) => ok(toJson(await app.release(domain_id, { dryRun: dry_run }))),
    html: ({ data }, { domain_id }, frame) => generationsPage(data, domain_id, frame),
  });
}

function difference(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/difference`,
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Lists the documents that readers see differently in two generations of a domain.",
    changes: null,
    query: {
      domain_id: required(domainId, "The domain."),
      from: required(NUMBER, "The earlier generation."),
      to: required(NUMBER, "The later one."),
    },
    examples: ["?domain_id=DEMO&from=3&to=4"],
    async run({ domain_id, from, to }) {
      const changes: ShownDifference["changes"][number][] = [];
      let more = false;
      for await (const page of app.difference(domain_id, { from, to })) {
        changes.push(...page.slice(0, MAX_CHANGES - changes.length).map(toChangeJson));
        more = changes.length >= MAX_CHANGES;
        if (more) break;
      }
      const { kept } = await app.generations(domain_id);
      const erasedFrom = (number: number): number => kept.find((one) => one.number === number)?.erased ?? 0;
      return ok({ from, to, erased: { from: erasedFrom(from), to: erasedFrom(to) }, changes, more });
    },
    html: ({ data }, { domain_id }, frame) => differencePage(data, domain_id, frame),
  });
}

function toJson({ shown, newest, pinned, kept }: GenerationsView): ShownGenerations {
  return { shown, newest, pinned, generations: kept.map((generation) => toGenerationJson(generation, shown)) };
}

function toGenerationJson(generation: Generation, shown: number): ShownGenerations["generations"][number] {
  return {
    generation: generation.number,
    generation_id: generation.generationId,
    shown: generation.number === shown,
    committed_utc: generation.committedAt,
    domain_id: generation.domainId,
    source_id: generation.sourceId,
    crawl: generation.crawl,
    intermediate: generation.intermediate,
    added: generation.added,
    removed: generation.removed,
    erased: generation.erased,
    visible: generation.visible,
  };
}

function toChangeJson({ kind, sourceId, itemId, name, path }: GenerationChange): ShownDifference["changes"][number] {
  return { change: kind, source_id: sourceId, item_id: itemId, name, path };
}
