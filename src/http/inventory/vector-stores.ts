import { html } from "hono/html";
import type OpenAI from "openai";
import type { App } from "../../app/app.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { StoreFile, VectorStore } from "../../inventory/inventory.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import type { Html } from "../pages/layout.ts";
import { type Endpoint, endpoint } from "../routing/endpoint.ts";
import { dryRun, optional, required, withDefault } from "../routing/parameters.ts";
import { text, trueOrFalse, wholeNumber } from "../routing/values.ts";
import { backendIds, idList, jsonObject, metadata, type StoreExpiry, storeExpiry } from "./backend-values.ts";
import { listPart } from "./list-part.ts";
import { detailAddress, type Editor, listAddress, type ObjectRef, resource } from "./resource.ts";
import { oneStep, toJob } from "./resource-endpoints.ts";
import { createForm, domainLink, named, sizeOf, statusPill, timeOf } from "./resource-pages.ts";

/** A store with the domain that uses it; "" if none does. */
type UsedStore = VectorStore & { readonly used_by_domain: string };

const storeFields = {
  name: optional(text, "What people call it; need not be unique."),
  metadata: optional(metadata, "Up to 16 texts by name."),
  expires_after: optional(storeExpiry, `{"anchor":"last_active_at","days":30}: when it goes if nobody uses it.`),
  expires_after_days: optional(
    wholeNumber({ from: 1, to: 365 }),
    "The same as a number of days, for forms; instead of 'expires_after'.",
  ),
};

const storeEditor: Editor<UsedStore> = {
  prefix: "store",
  inputs: [
    { id: "name", name: "name", label: "Name", attributes: html`autocomplete="off" required` },
    {
      id: "days",
      name: "expires_after_days",
      label: "Expires after days without use",
      attributes: html`type="number" min="1" max="365"`,
      hint: { create: "Empty: never", edit: "Empty: as it is" },
    },
  ],
  textarea: {
    id: "metadata",
    name: "metadata",
    label: "Metadata, as JSON",
    attributes: html`rows="2" spellcheck="false" placeholder='{"team":"HR"}'`,
  },
  values: ({ name, metadata: facts, expires_after }) => ({
    name: name ?? "",
    metadata: facts && Object.keys(facts).length > 0 ? JSON.stringify(facts) : "",
    expires_after_days: expires_after ? String(expires_after.days) : "",
  }),
};

export const vectorStores = resource({
  path: "vector_stores",
  noun: "vector store",
  title: "Vector stores",
  idParameter: "vector_store_id",
  list: {
    description: "Lists the vector stores in the backend, newest first, each with the domain that uses it.",
    examples: ["?format=json", "?format=json&limit=20&sort=name&filter=handbook", "?format=ui"],
    pageFormat: "ui",
    sortable: ["created_at", "name", "usage_bytes", "status", "last_active_at", "used_by_domain"],
    async run(app, listing) {
      const users = await domainsOfStores(app);
      return listPart(
        async function* (query) {
          for await (const page of app.inventory.stores.pages(query)) yield page.map((store) => withUser(store, users));
        },
        listing,
        { noun: "vector stores", largestPage: 100 },
      );
    },
  },
  get: {
    description: "Returns one vector store, with the domain that uses it.",
    examples: ["?vector_store_id=vs_abc123", "?vector_store_id=vs_abc123&format=html"],
    read: (app, { id }) => readStore(app, id),
  },
  create: {
    description: "Creates a vector store.",
    changes: "Adds a vector store to the backend.",
    examples: [
      `curl '{origin}/v2/inventory/vector_stores/create' -H 'content-type: application/json' -d '{"name":"handbook","metadata":{"team":"HR"}}'`,
      "curl '{origin}/v2/inventory/vector_stores/create' -d name=handbook -d expires_after_days=30",
    ],
    object: "vector_store",
    fields: {
      ...storeFields,
      description: optional(text, "What it holds."),
      file_ids: optional(idList, "Files of the backend to begin with, up to 500."),
      chunking_strategy: optional(jsonObject, "How those files are cut, as the OpenAI protocol has it."),
    },
    prepare({ inventory }, body) {
      const { expires_after, expires_after_days, file_ids, chunking_strategy: chunking, ...rest } = withoutAbsent(body);
      const expiry = expiryOf(expires_after, expires_after_days);
      const fields = {
        ...rest,
        ...(expiry && { expires_after: expiry }),
        ...(file_ids && { file_ids: [...file_ids] }),
        // The backend checks what is in it.
        ...(chunking && { chunking_strategy: chunking as unknown as OpenAI.FileChunkingStrategyParam }),
      };
      return { fields, apply: () => inventory.stores.create(fields) };
    },
  },
  update: {
    description: "Changes name, metadata or expiry of a vector store. Fields that are not given keep their value.",
    changes: "The vector store in the backend.",
    examples: [
      `curl -X PUT '{origin}/v2/inventory/vector_stores/update?vector_store_id=vs_abc123' -H 'content-type: application/json' -d '{"name":"handbook 2026"}'`,
    ],
    fields: storeFields,
    read: ({ inventory }, id) => inventory.stores.get(id),
    prepare({ inventory }, id, body) {
      const { expires_after, expires_after_days, name, metadata: facts } = withoutAbsent(body);
      const expiry = expiryOf(expires_after, expires_after_days);
      const fields = {
        ...(name !== undefined && { name }),
        ...(facts !== undefined && { metadata: facts }),
        ...(expiry !== undefined && { expires_after: expiry }),
      };
      return { fields, apply: () => inventory.stores.update(id, fields) };
    },
  },
  remove: {
    description:
      "Deletes a vector store, with mode=with_files also all its files, from the backend as a whole. Runs as a job. A store that a domain uses can be deleted: the answer names the domain, whose next crawl then says that its store is gone.",
    changes: "Removes the vector store in the backend, and with mode=with_files its files first, for good.",
    role: "admin",
    runsAs: "job",
    examples: [
      "?vector_store_id=vs_abc123&mode=with_files&dry_run=true",
      "curl -X DELETE '{origin}/v2/inventory/vector_stores/delete?vector_store_id=vs_abc123'",
    ],
    modes: {
      description: "with_files deletes every file of the store from the backend first, whoever else holds it.",
      choices: [
        ["default", "Only the vector store; its files stay in the backend"],
        ["with_files", "Its files too, also where other vector stores hold them"],
      ],
    },
    async prepare(app, { id }, mode) {
      const store = await readStore(app, id);
      return async (steps) => {
        if (store.used_by_domain !== "") steps.log(usedStoreWarning(id, store.used_by_domain));
        return app.inventory.stores.delete(store, mode, steps);
      };
    },
  },
  page: {
    lede: "Embedded files, ready to be searched. Each domain fills one of its own; the others are yours.",
    tableId: "stores",
    empty: "No vector stores yet: the first crawl of a domain creates one.",
    forms: {
      role: "operate",
      html: (rows) =>
        html`<div class="stack">${createForm({ path: "vector_stores", noun: "vector store" }, storeEditor)}${replicateForm(rows)}</div>`,
    },
    editor: storeEditor,
    confirm: {
      warning: "Its searches find nothing afterwards, and its next crawl stops because the store is gone.",
    },
    name: ({ name }: UsedStore) => name ?? "",
    usedBy: ({ used_by_domain }) => used_by_domain,
    columns: [
      { sort: "name", title: "Name", cell: ({ id, name }) => named(name, id, storeAddress(id)) },
      { sort: "used_by_domain", title: "Domain", cell: ({ used_by_domain }) => domainLink(used_by_domain) },
      { title: "Files", align: "end", cell: filesLink },
      { sort: "usage_bytes", title: "Size", align: "end", cell: ({ usage_bytes }) => sizeOf(usage_bytes) },
      { sort: "status", title: "Status", cell: ({ status }) => statusPill(status) },
      { sort: "created_at", title: "Created", cell: ({ created_at }) => timeOf(created_at) },
    ],
    facts: (store) => [
      ["Files", filesLink(store)],
      ["Size", sizeOf(store.usage_bytes)],
      ["Status", statusPill(store.status)],
      ["Domain", domainLink(store.used_by_domain)],
      ["Created", timeOf(store.created_at)],
      ["Last used", timeOf(store.last_active_at)],
      ...(store.expires_at ? [["Expires", timeOf(store.expires_at)] as const] : []),
    ],
    links: ({ id }) => html`<a class="button small" href="${storeFilesAddress(id)}">Files</a>`,
  },
});

async function readStore(app: App, id: string): Promise<UsedStore> {
  return withUser(await app.inventory.stores.get(id), await domainsOfStores(app));
}

function withUser(store: VectorStore, users: ReadonlyMap<string, string>): UsedStore {
  return { ...store, used_by_domain: users.get(store.id) ?? "" };
}

export function usedStoreWarning(storeId: string, domainId: string): string {
  return `WARNING: Vector store '${storeId}' is the one of domain '${domainId}'.`;
}

function expiryOf(
  given: StoreExpiry | null | undefined,
  days: number | undefined,
): { anchor: "last_active_at"; days: number } | null | undefined {
  if (given !== undefined && days !== undefined) {
    throw new BadInputError("Give either 'expires_after' or 'expires_after_days', not both.");
  }
  return days === undefined ? given : { anchor: "last_active_at", days };
}

export function storeAddress(id: string): string {
  return detailAddress("vector_stores", { vector_store_id: id });
}

function storeFilesAddress(storeId: string): string {
  return `/v2/inventory/vector_stores/files?${new URLSearchParams({ vector_store_id: storeId, format: "html" })}`;
}

function filesLink({ id, file_counts: { total, failed, in_progress: busy } }: UsedStore): Html {
  const counts = html`${total}${failed > 0 ? html`<br><span class="unbroken error">${failed} failed</span>` : ""}${busy > 0 ? html`<br><span class="unbroken">${busy} in progress</span>` : ""}`;
  return html`<a href="${storeFilesAddress(id)}">${counts}</a>`;
}

/**
 * Maps vector store ids to the domain that uses the store: as its own, or as the new one that a crawl is filling. Domains that cannot be
 * read are left out.
 */
export async function domainsOfStores({ domains, otherStores }: App): Promise<ReadonlyMap<string, string>> {
  const users = new Map<string, string>();
  for (const { vectorStoreId, domainId } of (await domains.list()).domains) {
    if (vectorStoreId !== "") users.set(vectorStoreId, domainId);
    for (const other of await otherStores(domainId)) {
      if (other.state === "building") users.set(other.vectorStoreId, domainId);
    }
  }
  return users;
}

export const storeFiles = resource({
  path: "vector_stores/files",
  noun: "file",
  title: "Files of the vector store",
  idParameter: "file_id",
  inStore: true,
  list: {
    description: "Lists the files of one vector store, newest first, with their names and how their embedding went.",
    examples: ["?vector_store_id=vs_abc123", "?vector_store_id=vs_abc123&format=html&filter=failed"],
    pageFormat: "html",
    sortable: ["created_at", "filename", "usage_bytes", "status"],
    run: ({ inventory }, listing, { storeId }) =>
      listPart((query) => inventory.storeFiles.pages(storeId, query), listing, { noun: "files", largestPage: 100 }),
  },
  get: {
    description: "Returns one file of a vector store: status, attributes, chunking, and why its embedding failed.",
    examples: ["?vector_store_id=vs_abc123&file_id=file-abc123"],
    read: ({ inventory }, { storeId, id }) => inventory.storeFiles.get(storeId, id),
  },
  remove: {
    description:
      "Takes a file out of a vector store, with mode=delete_globally also out of the backend. A crawled file that is taken out of its domain's store comes back with the next crawl.",
    changes:
      "Removes the file from the vector store, and with mode=delete_globally, which takes the role admin, the file itself, for good.",
    runsAs: "either",
    action: "delete_file",
    examples: [
      "?vector_store_id=vs_abc123&file_id=file-abc123&dry_run=true",
      "curl -X DELETE '{origin}/v2/inventory/vector_stores/files/delete?vector_store_id=vs_abc123&file_id=file-abc123&mode=delete_globally'",
    ],
    modes: {
      description: "delete_globally then deletes the file in the backend, and with that from every store; for admins.",
      choices: [
        ["default", "Only from this vector store; the file stays in the backend"],
        ["delete_globally", "From the backend too, and with that from every vector store"],
      ],
      role: "admin",
    },
    async prepare(app, ref, mode) {
      const { id, storeId } = ref;
      const { inventory } = app;
      const users = await domainsOfStores(app);
      const { attached, ...found } = await findStoreFile(app, ref, mode);
      const file = { ...found, mode, used_by_domain: users.get(storeId) ?? "" };
      const verb = mode === "default" ? "Removing" : attached ? "Removing and deleting" : "Deleting";
      const label = `${verb} file '${file.filename}' (ID='${id}') of vector store '${storeId}'`;
      return oneStep(label, file, async () => {
        if (attached) await inventory.storeFiles.detach(storeId, id);
        // The name is known only while the file itself exists.
        if (mode === "delete_globally" && file.filename !== "") await inventory.files.delete(id);
        return file;
      });
    },
  },
  page: {
    lede: "",
    async heading(app, storeId) {
      const { id, name, used_by_domain: user } = await readStore(app, storeId);
      const head = html`<header class="page-head"><p class="lede"><a href="${listAddress("vector_stores")}">Vector stores</a></p>
<h1>Files of <bdi>${name || id}</bdi></h1><div class="actions"><a class="button small" href="${storeAddress(id)}">Vector store</a></div>
<p class="lede">${user === "" ? "" : html`Filled by domain ${domainLink(user)}. `}<code class="object-id">${id}</code></p></header>`;
      return { title: `Files of ${name || id}`, head };
    },
    tableId: "store-files",
    empty: "This vector store holds no files.",
    confirm: {
      title: "Remove file?",
      button: "Remove",
      sentence:
        "is taken out of this vector store. A crawled file of the store's own domain comes back with its next crawl.",
    },
    name: ({ filename }: StoreFile) => filename,
    kind: "File of a vector store",
    columns: [
      {
        sort: "filename",
        title: "Name",
        cell: ({ id, vector_store_id, filename }) =>
          named(
            filename || "(file is gone)",
            id,
            detailAddress("vector_stores/files", { vector_store_id, file_id: id }),
          ),
      },
      { sort: "status", title: "Status", cell: indexingStatus },
      { sort: "usage_bytes", title: "Size", align: "end", cell: ({ usage_bytes }) => sizeOf(usage_bytes) },
      { sort: "created_at", title: "Added", cell: ({ created_at }) => timeOf(created_at) },
    ],
    facts: (file) => [
      ["Status", indexingStatus(file)],
      ["Size", sizeOf(file.usage_bytes)],
      ["Added", timeOf(file.created_at)],
    ],
    back: ({ vector_store_id }) => ["Files of the vector store", storeFilesAddress(vector_store_id)],
  },
});

/** If an earlier attempt removed the file from the store but could not delete it, the file is still there to be deleted. */
async function findStoreFile(
  { inventory: { files: all, stores, storeFiles: attachedFiles } }: App,
  { id, storeId }: ObjectRef,
  mode: "default" | "delete_globally",
): Promise<{ readonly attached: boolean; readonly filename: string }> {
  try {
    return { attached: true, ...(await attachedFiles.get(storeId, id)) };
  } catch (error) {
    if (mode === "default" || !(error instanceof NotFoundError)) throw error;
    await stores.get(storeId);
    return { attached: false, ...(await all.get(id)) };
  }
}

function indexingStatus({ status, last_error: error }: StoreFile): Html {
  return html`${statusPill(status)}${error ? html`<br><bdi class="error">${error.message}</bdi>` : ""}`;
}

export function replicateEndpoint(app: App): Endpoint {
  return endpoint({
    path: "/v2/inventory/vector_stores/replicate",
    methods: ["GET"],
    formats: ["json", "html", "stream"],
    description:
      "Collects the files of the source vector stores, each once, and adds to every target what it lacks, with attributes and chunking. Runs as a job that waits until the files can be searched and names every one that fails.",
    changes: "Adds files to the target vector stores; takes others out when asked to.",
    destroys: (args) => args.remove_target_files_not_in_sources,
    query: {
      source_vector_store_ids: required(backendIds, "Where the files come from."),
      target_vector_store_ids: required(backendIds, "Where they are to be."),
      remove_target_files_not_in_sources: withDefault(
        trueOrFalse,
        false,
        "true then takes files out of the targets that no source has, unless a file could not be added or the sources are empty.",
      ),
      dry_run: dryRun,
    },
    examples: [
      "?source_vector_store_ids=vs_1,vs_2&target_vector_store_ids=vs_3&dry_run=true",
      "?source_vector_store_ids=vs_1&target_vector_store_ids=vs_3,vs_4&remove_target_files_not_in_sources=true&format=stream",
    ],
    async job(args) {
      const { source_vector_store_ids: sources, target_vector_store_ids: targets } = args;
      const both = sources.find((id) => targets.includes(id));
      if (both !== undefined) throw new BadInputError(`Vector store '${both}' is both a source and a target.`);
      const request = { sources, targets, removeOthers: args.remove_target_files_not_in_sources };
      await app.inventory.stores.checkReplicate(request);
      const users = await domainsOfStores(app);
      return toJob({
        resource: { path: "vector_stores" },
        action: "replicate",
        object: targets.join(","),
        dryRun: args.dry_run,
        async work(steps) {
          for (const id of targets) {
            const user = users.get(id);
            if (user !== undefined) steps.log(usedTargetWarning(id, user));
          }
          return app.inventory.stores.replicate(request, steps);
        },
      });
    },
  });
}

function usedTargetWarning(store: string, domain: string): string {
  return `WARNING: Target '${store}' belongs to domain '${domain}'. Its crawls leave files alone that were added here, and add crawled ones again that were removed.`;
}

/** The first button, which Enter presses, shows the plan. */
function replicateForm(stores: readonly UsedStore[]): Html {
  return html`<details class="panel inventory-form"><summary>Copy files between vector stores</summary>
<form class="stack" action="/v2/inventory/vector_stores/replicate" method="get" data-job>
<p class="quiet">Adds to every target the files of all sources that it lacks, with attributes and chunking. Nothing is uploaded again.</p>
<input type="hidden" name="format" value="html">
<datalist id="store-choices">${stores.map(({ id, name }) => html`<option value="${id}">${name || id}</option>`)}</datalist>
<div class="fields">
${idsInput("source_vector_store_ids", "Sources", "Choose one, or give several ids with commas between them")}
${idsInput("target_vector_store_ids", "Targets", "Choose one, or give several ids with commas between them")}
</div>
<label class="check"><input type="checkbox" name="remove_target_files_not_in_sources" value="true" data-asks="replicate-dialog"><span>Then take files out of the targets that no source has</span></label>
<div class="form-end"><button name="dry_run" value="true">Show the plan</button><button class="primary">Copy files</button><p class="form-error" role="alert" hidden></p></div>
</form>
<dialog id="replicate-dialog" aria-labelledby="replicate-title"><h2 id="replicate-title">Take files out of the targets?</h2>
<p>Files of the targets that no source has are taken out of them. They stay in the backend, but searches of the targets no longer find them.</p>
<div class="form-end"><button type="button" data-closes>Cancel</button><button type="button" class="danger" data-confirms>Copy and take out</button></div></dialog>
</details>`;
}

function idsInput(name: string, title: string, hint: string): Html {
  return html`<div class="field"><label for="${name}"><span>${title}</span></label><input id="${name}" name="${name}" list="store-choices" required autocomplete="off" spellcheck="false" placeholder="vs_…, vs_…" aria-describedby="${name}-hint"><small id="${name}-hint">${hint}</small></div>`;
}
