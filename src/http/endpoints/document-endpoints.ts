import { createReadStream } from "node:fs";
import type { App } from "../../app/app.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import { FILE_STATUSES, VERSION_ID } from "../../contracts/manifest.ts";
import type { DocumentName } from "../../engine/documents.ts";
import type { DocumentKey } from "../../engine/searchable-documents.ts";
import { oneChunk } from "../../lib/text.ts";
import {
  documentDifferencePage,
  documentPage,
  documentSectionsPage,
  documentsPage,
  documentVersionPage,
} from "../pages/document-pages.ts";
import { failuresPage } from "../pages/failures-page.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { readingPage } from "../pages/reading-page.ts";
import { type Answer, type Endpoint, endpoint, ok, okPart, type RawAnswer } from "../routing/endpoint.ts";
import { MAX_LIMIT } from "../routing/listing.ts";
import { type Arguments, optional, required, withDefault } from "../routing/parameters.ts";
import { domainId, oneOf, sourceId, text, trueOrFalse, type Value, wholeNumber, words } from "../routing/values.ts";
import {
  type DocumentJson,
  type SectionJson,
  toDifferenceJson,
  toDocumentJson,
  toDocumentViewJson,
  toFailuresJson,
  toReadJson,
  toSectionsJson,
  toVersionJson,
} from "./document-codec.ts";

const PATH = "/v2/documents";
/** Limits for one JSON text and one page; `format=raw` has none. */
const JSON_CHARACTERS = 4 * 1024 * 1024;
const PAGE_CHARACTERS = 512 * 1024;
/** A page for reading: some twenty pages of a book; of a PDF, whose pages are shown, more. */
const READING_CHARACTERS = 60_000;
const READING_PDF_CHARACTERS = 200_000;
const JSON_DIFFERENCE = { characters: JSON_CHARACTERS, lines: 100_000 };
const PAGE_DIFFERENCE = { characters: PAGE_CHARACTERS, lines: 5000 };

const versionId: Value<string> = {
  accepts: "the id of a version, as v3",
  schema: { type: "string", pattern: VERSION_ID },
  read: (raw) => (typeof raw === "string" && new RegExp(VERSION_ID).test(raw) ? raw : undefined),
};

const documentQuery = {
  domain_id: required(domainId, "The domain."),
  document: required(words, "The document: its doc_id, or its path below the root of its source."),
  source_id: optional(sourceId, "Its source; needed only where two sources have the same path."),
};

/** Files without ids: their identity, status, versions and texts; and the sections of all documents. */
export function documentEndpoints(app: App): Endpoint[] {
  return [list(app), failed(app), acknowledge(app), get(app), version(app), difference(app), sections(app), read(app)];
}

const listQuery = {
  domain_id: required(domainId, "The domain."),
  source_id: optional(sourceId, "Only those of this source."),
  status: optional(oneOf(FILE_STATUSES), "Only those in this state."),
  filter: withDefault(text, "", "Only those in whose path this text occurs, or whose doc_id it is."),
  limit: withDefault(wholeNumber({ from: 1, to: MAX_LIMIT }), PAGE_ROWS, "At most this many."),
  offset: withDefault(wholeNumber({ from: 0, to: 999_999_999 }), 0, "Leaves out this many first."),
};

export type DocumentsQuery = Arguments<typeof listQuery>;

function list(app: App): Endpoint {
  return endpoint({
    path: PATH,
    forReaders: true,
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Lists the files of folders and the like as their manifests know them: the identity that follows a file, whether it is there, its versions and where it came from. Source by source, sorted by path; a source with more than 20,000 files comes in no particular order.",
    changes: null,
    query: listQuery,
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&status=missing", "?domain_id=DEMO&filter=handbook&format=html"],
    async run({ domain_id, source_id, status, filter, offset, limit }) {
      const wanted = { domainId: domain_id, sourceId: source_id, status, text: filter, offset, limit };
      const { documents, more, total } = await app.documents.list(wanted);
      return okPart({ rows: documents.map(toDocumentJson), page: { offset, limit, total, more } });
    },
    html: async (answer: Answer<readonly DocumentJson[]>, args, frame) =>
      documentsPage(answer, args, await app.domains.get(args.domain_id), frame),
  });
}

const failedQuery = {
  domain_id: required(domainId, "The domain."),
  source_id: optional(sourceId, "Only those of this source."),
};

/** What failed, of every kind of source. */
function failed(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/failed`,
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Lists what failed in a domain until it is solved: sources that could not be read whole, and items that could not be downloaded, processed or embedded, grouped by reason, with what to do. What was acknowledged is apart, and comes back as new when its reason or its content changes.",
    changes: null,
    query: failedQuery,
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&format=html"],
    run: async ({ domain_id, source_id }) => ok(toFailuresJson(await app.failures.list(domain_id, source_id))),
    html: ({ data }, _args, frame) => failuresPage(data, frame),
  });
}

function acknowledge(app: App): Endpoint {
  return endpoint({
    path: `${PATH}/acknowledge`,
    methods: ["POST", "GET"],
    formats: ["json", "html"],
    description:
      "Acknowledges what failed: one item, a group of them, or everything. It stays listed, but neither the domain nor a crawl is called failed because of it, until its reason or its content changes.",
    changes: "The domain's ledger.",
    query: {
      ...failedQuery,
      item: optional(words, "One item: its id, path or name."),
      group: optional(words, "One group, by its id in the list."),
      withdraw: withDefault(trueOrFalse, false, "true makes it new again."),
    },
    examples: ["?domain_id=DEMO&item=handbook/scan.pdf", "?domain_id=DEMO&group=1f0c2d3e4a5b&withdraw=true"],
    async run({ domain_id, source_id, item, group, withdraw }) {
      const items = item === undefined ? undefined : [item];
      const choice = { domainId: domain_id, sourceId: source_id, items, group };
      const count = await (withdraw ? app.failures.withdraw(choice) : app.failures.acknowledge(choice));
      const view = toFailuresJson(await app.failures.list(domain_id, source_id));
      return ok({ ...view, note: `${count} ${withdraw ? "new again" : "acknowledged"}.` });
    },
    html: ({ data }, _args, frame) => failuresPage(data, frame),
  });
}

function get({ documents }: App): Endpoint {
  return endpoint({
    path: `${PATH}/get`,
    forReaders: true,
    methods: ["GET"],
    formats: ["json", "html"],
    description: "Tells everything about one file of a folder or the like: how it stands, its versions, its history.",
    changes: null,
    query: documentQuery,
    examples: ["?domain_id=DEMO&document=handbook/travel.md", "?domain_id=DEMO&document=doc_k7gxn3&format=html"],
    run: async (args) => ok(toDocumentViewJson(await documents.get(nameOf(args)))),
    html: ({ data }, { domain_id }, frame) => documentPage(data, domain_id, frame),
  });
}

function version({ documents }: App): Endpoint {
  return endpoint({
    path: `${PATH}/version`,
    forReaders: true,
    methods: ["GET"],
    formats: ["json", "html", "raw"],
    description: "Returns the text of one version of a document, as Markdown.",
    changes: null,
    query: { ...documentQuery, version_id: optional(versionId, "The version; without it, the current one.") },
    examples: [
      "?domain_id=DEMO&document=handbook/travel.md",
      "?domain_id=DEMO&document=handbook/travel.md&version_id=v1&format=raw",
    ],
    async run(args, { format }) {
      const view = await documents.version(nameOf(args), args.version_id);
      const { length } = view.version.markdown;
      if (format === "json" && length > JSON_CHARACTERS) {
        throw new BadInputError(`The text has ${length} characters, more than fit here. Use format=raw.`);
      }
      return ok(toVersionJson(view, format === "json" ? JSON_CHARACTERS : PAGE_CHARACTERS));
    },
    raw: async (args) => asBytes((await documents.version(nameOf(args), args.version_id)).version),
    html: ({ data }, { domain_id }, frame) => documentVersionPage(data, domain_id, frame),
  });
}

function difference({ documents }: App): Endpoint {
  return endpoint({
    path: `${PATH}/difference`,
    forReaders: true,
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Tells line by line what changed in a document from one version to another; of a long difference the beginning, and complete=false.",
    changes: null,
    query: {
      ...documentQuery,
      from: required(versionId, "The earlier version."),
      to: required(versionId, "The later one."),
    },
    examples: ["?domain_id=DEMO&document=handbook/travel.md&from=v1&to=v2"],
    async run(args, { format }) {
      const found = await documents.difference(nameOf(args), args);
      return ok(toDifferenceJson(found, args, format === "json" ? JSON_DIFFERENCE : PAGE_DIFFERENCE));
    },
    html: ({ data }, { domain_id }, frame) => documentDifferencePage(data, domain_id, frame),
  });
}

const sectionsQuery = {
  domain_id: required(domainId, "The domain."),
  document: required(words, "The document: its file id, item id, path, URL or name."),
  source_id: optional(sourceId, "Its source; needed only where several documents have the same path or name."),
  generation: optional(wholeNumber({ from: 0, to: 999_999_999 }), "As of this generation of the domain."),
  limit: withDefault(wholeNumber({ from: 1, to: MAX_LIMIT }), PAGE_ROWS, "At most this many."),
  offset: withDefault(wholeNumber({ from: 0, to: 999_999_999 }), 0, "Leaves out this many first."),
};

export type SectionsQuery = Arguments<typeof sectionsQuery>;

function sections({ documents }: App): Endpoint {
  return endpoint({
    path: `${PATH}/sections`,
    forReaders: true,
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Lists the sections of a document of any source as the index has them, in reading order: each heading with its content, an id, and the id of the section above it (parent_section_id). A node without content and without children is left out.",
    changes: null,
    query: sectionsQuery,
    examples: ["?domain_id=DEMO&document=handbook/travel.md", "?domain_id=DEMO&document=Handbook.md&generation=3"],
    async run({ generation, offset, limit, ...args }, { format }) {
      const found = await documents.sections({ name: nameOf(args), generation, offset, limit });
      const rows = toSectionsJson(found, format === "json" ? JSON_CHARACTERS : PAGE_CHARACTERS);
      return okPart({ rows, page: { offset, limit, total: found.total, more: offset + rows.length < found.total } });
    },
    html: (answer: Answer<readonly SectionJson[]>, args, frame) => documentSectionsPage(answer, args, frame),
  });
}

const readQuery = {
  domain_id: required(domainId, "The domain."),
  source_id: optional(sourceId, "Its source; left out for a file that was attached over the protocol."),
  item_id: required(words, "The document, by the id of its item, as a search names it."),
  passage: optional(
    wholeNumber({ from: 0, to: 999_999_999 }),
    "The passage to show, by its position, as a search names it.",
  ),
  offset: optional(wholeNumber({ from: 0, to: 999_999_999 }), "Begins with this character of the text."),
};

/** What readers open: of every kind of source. */
function read({ searchableDocuments }: App): Endpoint {
  return endpoint({
    path: `${PATH}/read`,
    forReaders: true,
    methods: ["GET"],
    formats: ["json", "html", "raw"],
    description:
      "Shows a document as readers find it, at a passage: its text as Markdown (json), a page to read it on, with a PDF as it is (html), or the original as it is mirrored (raw).",
    changes: null,
    query: readQuery,
    examples: ["?domain_id=DEMO&source_id=docs&item_id=doc_k7gxn3&passage=2&format=html"],
    async run(args, { format }) {
      const key = keyOf(args);
      const original = await searchableDocuments.original(key);
      const pageLimit = /\.pdf$/i.test(original?.name ?? "") ? READING_PDF_CHARACTERS : READING_CHARACTERS;
      const limit = format === "json" ? JSON_CHARACTERS : pageLimit;
      const found = await searchableDocuments.read(key, { offset: args.offset, passage: args.passage, limit });
      return ok(toReadJson(found, original));
    },
    async raw(args) {
      const original = await searchableDocuments.original(keyOf(args));
      if (!original) {
        throw new NotFoundError(
          "There is no file of this document as readers see it: it has none, or a crawl has brought another version meanwhile.",
        );
      }
      return {
        content: createReadStream(original.path),
        bytes: original.bytes,
        mediaType: "application/octet-stream",
        fileName: original.name,
      };
    },
    html: ({ data }, _args, frame) => readingPage(data, frame),
  });
}

function keyOf({ domain_id, source_id, item_id }: Arguments<typeof readQuery>): DocumentKey {
  return { domainId: domain_id, sourceId: source_id ?? "", itemId: item_id as ItemId };
}

function nameOf({ domain_id, source_id, document }: Arguments<typeof documentQuery>): DocumentName {
  return { domainId: domain_id, sourceId: source_id, called: document };
}

/** Returns a document as plain text, whatever its type: a browser runs nothing in it. */
function asBytes(version: { readonly versionId: string; readonly path: string; readonly markdown: string }): RawAnswer {
  const bytes = Buffer.from(version.markdown);
  const name = version.path.split("/").at(-1) ?? "";
  return {
    content: oneChunk(bytes),
    bytes: bytes.byteLength,
    mediaType: "text/plain; charset=utf-8",
    fileName: `${name}.${version.versionId}.md`,
  };
}
