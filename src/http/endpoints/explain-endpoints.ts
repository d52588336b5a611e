import type { App } from "../../app/app.ts";
import type { DocumentExplanation, ExplainedDocument } from "../../engine/explain/explain.ts";
import { explainPage } from "../pages/explain-page.ts";
import { type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { required, withDefault } from "../routing/parameters.ts";
import { domainId, wholeNumber, words } from "../routing/values.ts";

/** An explanation as JSON. */
export interface ExplanationJson {
  readonly domain_id: string;
  readonly query: string;
  /** The document as the client named it. */
  readonly document: string;
  readonly documents: readonly ExplainedJson[];
  /** Number of further documents that match the same name. */
  readonly more: number;
}

export type ExplainedJson = Pick<
  ExplainedDocument,
  "name" | "path" | "url" | "place" | "score" | "stages" | "verdict"
> & {
  readonly source_id: string;
  readonly item_id: string;
};

export function explainEndpoints(app: App): Endpoint[] {
  return [
    endpoint({
      path: "/v2/search/explain",
      forReaders: true,
      methods: ["GET"],
      formats: ["json", "html"],
      description:
        "Says why a document is, or is not, found: its way from the source over the mirror and the index into the answer of a search, up to where it ends.",
      changes: null,
      query: {
        domain_id: required(domainId, "The domain that was searched."),
        query: required(words, "What was searched for."),
        results: withDefault(
          wholeNumber({ from: 1, to: 50 }),
          10,
          "How many results the search had, as its parameter says.",
        ),
        document: required(words, "The document: its name, path, address, item id or file id."),
      },
      examples: ["?domain_id=DEMO&query=hotel+costs&document=Travel.docx"],
      async run({ domain_id, query, document, results: limit }, call) {
        return ok(toJson(document, await app.explainDocument({ domainId: domain_id, query, document, limit }, call)));
      },
      html: ({ data }, _args, frame) => explainPage(data, frame),
    }),
  ];
}

function toJson(document: string, { domainId: id, query, documents, more = 0 }: DocumentExplanation): ExplanationJson {
  return { domain_id: id, query, document, documents: documents.map(toDocumentJson), more };
}

function toDocumentJson({ sourceId, itemId, ...rest }: ExplainedDocument): ExplainedJson {
  return { source_id: sourceId, item_id: itemId, ...rest };
}
