import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import busboy from "busboy";
import type { App } from "../../app/app.ts";
import { BadInputError, explain } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import { plural } from "../../lib/text.ts";
import { type UploadsShown, uploadsPage } from "../pages/upload-pages.ts";
import { type Call, type Endpoint, type EndpointSpec, endpoint, ok } from "../routing/endpoint.ts";
import { type Parameters, required, withDefault } from "../routing/parameters.ts";
import { runToEnd } from "../routing/run-to-end.ts";
import { domainId, text, trueOrFalse, words } from "../routing/values.ts";

const PATH = "/v2/domains/uploads";
const domain_id = required(domainId, "The domain.");
const crawl = withDefault(
  trueOrFalse,
  true,
  "false stores or deletes the file and leaves it to the next upload, or crawl, to bring that into search.",
);

/** Files that people upload: they are a source of the domain, crawled like any other. */
export function uploadEndpoints(app: App): Endpoint[] {
  return [list(app), put(app), remove(app)];
}

function list(app: App): Endpoint {
  return endpoint({
    ...shown,
    path: PATH,
    methods: ["GET"],
    description:
      "Lists the files that were uploaded to a domain, and how each stands; tells which types and sizes are taken. They are its source 'uploads', inside the storage.",
    changes: null,
    query: { domain_id },
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&format=html"],
    run: async ({ domain_id }) => ok(await show(app, domain_id)),
  });
}

function put(app: App): Endpoint {
  return endpoint({
    ...shown,
    path: `${PATH}/put`,
    methods: ["PUT", "POST"],
    description:
      "Uploads a file to a domain: its bytes are the body, or files of a form. One of the same path gets a new version. Types and sizes that are not taken are refused. When it answers, the files are searchable, unless crawl=false.",
    changes: "domains/<domain_id>/uploads/, and the source 'uploads' of the domain; then what a crawl changes.",
    query: {
      domain_id,
      path: withDefault(
        text,
        "",
        "Where it lies among the uploaded files: handbook/travel.pdf. Of files of a form, the folder.",
      ),
      crawl,
    },
    examples: [`curl -T travel.pdf '{origin}${PATH}/put?domain_id=DEMO&path=handbook/travel.pdf'`],
    async run({ domain_id, path, crawl }, call) {
      const isForm = /^multipart\/form-data/i.test(call.header("content-type") ?? "");
      const stored = isForm ? await putForm(app, domain_id, path, call) : await putOne(app, domain_id, path, call);
      if (stored.length === 0) throw new BadInputError("The form holds no file.");
      const problems = stored.flatMap(({ error }) => (error ? [error] : []));
      if (problems.length === stored.length) throw new BadInputError(problems.join(" "));
      return await bringIn(app, domain_id, call, { crawl, problems, stored });
    },
  });
}

function remove(app: App): Endpoint {
  return endpoint({
    ...shown,
    path: `${PATH}/remove`,
    methods: ["POST", "GET"],
    description: "Deletes an uploaded file. When it answers, it is out of search, unless crawl=false.",
    changes: "domains/<domain_id>/uploads/; then what a crawl changes.",
    destroys: () => true,
    query: { domain_id, path: required(words, "The file, by its path among the uploaded files."), crawl },
    examples: ["?domain_id=DEMO&path=handbook/travel.pdf"],
    async run({ domain_id, path, crawl }, call) {
      await app.uploads.remove(domain_id, path);
      return await bringIn(app, domain_id, call, { crawl, problems: [], stored: [] });
    },
  });
}

type Stored = NonNullable<UploadsShown["stored"]>[number] & { readonly error?: string };

async function bringIn(
  app: App,
  id: DomainId,
  call: Call,
  {
    crawl,
    problems,
    stored,
  }: { readonly crawl: boolean; readonly problems: readonly string[]; readonly stored: readonly Stored[] },
) {
  const crawled = crawl ? await runToEnd(app.runner, await app.uploads.bringIn(id), call) : undefined;
  const all = [...problems, ...(crawled && !crawled.ok ? [crawled.error] : [])];
  const data = { ...(await show(app, id)), ...(stored.length > 0 && { stored }) };
  return { ok: all.length === 0, error: all.join(" "), data };
}

async function putOne({ uploads }: App, id: DomainId, path: string, { content, header }: Call): Promise<Stored[]> {
  if (path === "")
    throw new BadInputError("Missing 'path': where the file lies among the uploaded files, as handbook/travel.pdf.");
  const told = Number(header("content-length") ?? Number.NaN);
  const bytes = Number.isFinite(told) ? told : undefined;
  const { isNew, bytes: stored } = await uploads.put(id, path, chunksOf(content), bytes);
  return [{ path, is_new: isNew, bytes: stored }];
}

async function* chunksOf(content: Call["content"]): AsyncGenerator<Uint8Array> {
  if (content) yield* Readable.fromWeb(content as ReadableStream);
}

/** One file after the other; one that is refused does not keep out the others. */
async function putForm({ uploads }: App, id: DomainId, folder: string, { content, header }: Call): Promise<Stored[]> {
  if (!content) throw new BadInputError("The form is empty.");
  const stored: Stored[] = [];
  let last: Promise<void> = Promise.resolve();
  const form = openForm(header("content-type") ?? "");
  form.on("file", (_field, stream, { filename }) => {
    // A form that ends early fails its file, perhaps before anybody reads it.
    stream.on("error", () => undefined);
    const name = filename ?? "";
    // Forms have an empty file where none was chosen.
    if (name === "") return void stream.resume();
    const path = [folder.replace(/\/+$/, ""), name].filter(Boolean).join("/");
    const mine = last.then(async () => {
      try {
        const { isNew, bytes } = await uploads.put(id, path, stream);
        stored.push({ path, is_new: isNew, bytes });
      } catch (error) {
        const reason = stream.errored ? `'${path}' did not come whole, and nothing of it is kept.` : explain(error);
        stored.push({ path, is_new: false, bytes: 0, error: reason });
        stream.resume();
      }
    });
    last = mine;
  });
  try {
    await pipeline(Readable.fromWeb(content as ReadableStream), form);
  } catch (cause) {
    await last;
    if (stored.length === 0) throw new BadInputError("The form ended early, or is no valid form.", { cause });
  }
  await last;
  return stored;
}

function openForm(contentType: string): busboy.Busboy {
  try {
    return busboy({ headers: { "content-type": contentType }, defParamCharset: "utf8", preservePath: true });
  } catch (cause) {
    throw new BadInputError("The body is no valid form.", { cause });
  }
}

const shown: Pick<
  EndpointSpec<{ readonly domain_id: typeof domain_id }, Parameters, UploadsShown>,
  "formats" | "html"
> = {
  formats: ["json", "html"],
  html: ({ data, error }, { domain_id }, frame) => uploadsPage(data, error, domain_id, frame),
};

async function show(app: App, id: DomainId): Promise<UploadsShown> {
  const { maxBytes, types } = await app.uploads.limits(id);
  const files = await app.uploads.list(id);
  const rows = files.map(({ path, bytes, uploadedAt, state, reason, sourceId, itemId }) => ({
    path,
    bytes,
    uploaded_utc: uploadedAt,
    state,
    reason,
    source_id: sourceId,
    item_id: itemId,
  }));
  return { domain_id: id, max_bytes: maxBytes, types, files: rows, summary: plural(files.length, "file") };
}
