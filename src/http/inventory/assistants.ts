import { html } from "hono/html";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import { RETIRED, storesOf } from "../../inventory/create-inventory.ts";
import type { Assistant } from "../../inventory/inventory.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import type { Html } from "../pages/layout.ts";
import { type Arguments, optional, required } from "../routing/parameters.ts";
import { text, words } from "../routing/values.ts";
import { backendId, decimal, jsonArray, jsonObject, metadata } from "./backend-values.ts";
import { listPart } from "./list-part.ts";
import { detailAddress, type Editor, resource } from "./resource.ts";
import { createForm, named, timeOf } from "./resource-pages.ts";
import { domainsOfStores, storeAddress, usedStoreWarning } from "./vector-stores.ts";

const assistantFields = {
  name: optional(text, "What people call it."),
  description: optional(text, "What it is for."),
  instructions: optional(text, "What it is told before every question."),
  vector_store_id: optional(backendId, "The vector store it searches; instead of 'tools' and 'tool_resources'."),
  tools: optional(jsonArray, "Its tools, as the OpenAI protocol has them."),
  tool_resources: optional(jsonObject, "What the tools use, as the OpenAI protocol has it."),
  metadata: optional(metadata, "Up to 16 texts by name."),
  temperature: optional(decimal({ from: 0, to: 2 }), "How freely it answers."),
  top_p: optional(decimal({ from: 0, to: 1 }), "Another way to say how freely."),
};

const assistantEditor: Editor<Assistant> = {
  prefix: "assistant",
  inputs: [
    { id: "name", name: "name", label: "Name", attributes: html`autocomplete="off"` },
    { id: "model", name: "model", label: "Model", attributes: html`autocomplete="off" required` },
    {
      id: "store",
      name: "vector_store_id",
      label: "Vector store",
      attributes: html`autocomplete="off" spellcheck="false" placeholder="vs_…"`,
    },
  ],
  textarea: { id: "instructions", name: "instructions", label: "Instructions", attributes: html`rows="4"` },
  values: (assistant) => ({
    name: assistant.name ?? "",
    model: assistant.model,
    instructions: assistant.instructions ?? "",
    vector_store_id: storesOf(assistant)[0] ?? "",
  }),
};

export const assistants = resource({
  path: "assistants",
  noun: "assistant",
  title: "Assistants",
  idParameter: "assistant_id",
  list: {
    description:
      "Lists the assistants in the backend, newest first. OpenAI retired them in August 2026: a backend without them answers an empty list, and 'error' says so.",
    examples: ["?format=json", "?format=ui"],
    pageFormat: "ui",
    sortable: ["created_at", "name", "model"],
    async run({ inventory }, listing) {
      try {
        const options = { noun: "assistants", largestPage: 100 };
        return await listPart((query) => inventory.assistants.pages(query), listing, options);
      } catch (error) {
        if (error instanceof NotFoundError) return { ok: false, error: RETIRED, data: [] };
        throw error;
      }
    },
  },
  get: {
    description: "Returns one assistant.",
    examples: ["?assistant_id=asst_abc123", "?assistant_id=asst_abc123&format=html"],
    read: ({ inventory }, { id }) => inventory.assistants.get(id),
  },
  create: {
    description: "Creates an assistant, where the backend still has them.",
    changes: "Adds an assistant to the backend.",
    examples: [
      `curl '{origin}/v2/inventory/assistants/create' -H 'content-type: application/json' -d '{"model":"gpt-4o","name":"Help desk","vector_store_id":"vs_abc123"}'`,
    ],
    object: "assistant",
    fields: { model: required(words, "The model that answers."), ...assistantFields },
    prepare({ inventory }, { model, ...body }) {
      const fields = { model, ...assistantSettings(body) };
      return { fields, apply: () => inventory.assistants.create(fields) };
    },
  },
  update: {
    description: "Changes an assistant. Fields that are not given keep their value.",
    changes: "The assistant in the backend.",
    examples: [
      `curl -X PUT '{origin}/v2/inventory/assistants/update?assistant_id=asst_abc123' -H 'content-type: application/json' -d '{"name":"Help desk 2"}'`,
    ],
    fields: { model: optional(words, "The model that answers."), ...assistantFields },
    read: ({ inventory }, id) => inventory.assistants.get(id),
    prepare({ inventory }, id, { model, ...body }) {
      const fields = { ...(model !== undefined && { model }), ...assistantSettings(body) };
      return { fields, apply: () => inventory.assistants.update(id, fields) };
    },
  },
  remove: {
    description:
      "Deletes an assistant, with mode=with_files also the vector store it searches and all files of that store. Runs as a job.",
    changes: "Removes the assistant in the backend, and with mode=with_files first the files, then the vector store.",
    role: "admin",
    runsAs: "job",
    examples: ["?assistant_id=asst_abc123&mode=with_files&dry_run=true"],
    modes: {
      description: "with_files deletes the files of its vector store and the store first, whoever else uses them.",
      choices: [
        ["default", "Only the assistant"],
        ["with_files", "Its vector store and all files of that store too, also where others use them"],
      ],
    },
    async prepare(app, { id }, mode) {
      const assistant = await app.inventory.assistants.get(id);
      const users = await domainsOfStores(app);
      return async (steps) => {
        const used = mode === "with_files" ? storesOf(assistant).filter((store) => users.has(store)) : [];
        for (const store of used) steps.log(usedStoreWarning(store, users.get(store) ?? ""));
        const reported = { ...assistant, used_by_domain: users.get(used[0] ?? "") ?? "" };
        return app.inventory.assistants.delete(reported, mode, steps);
      };
    },
  },
  page: {
    lede: "Model, instructions and vector store under one name. OpenAI retired them in August 2026; the embedded backend keeps them for older applications.",
    tableId: "assistants",
    empty: "No assistants.",
    forms: { role: "operate", html: () => createForm({ path: "assistants", noun: "assistant" }, assistantEditor) },
    editor: assistantEditor,
    name: ({ name }: Assistant) => name ?? "",
    columns: [
      {
        sort: "name",
        title: "Name",
        cell: ({ id, name }) => named(name, id, detailAddress("assistants", { assistant_id: id })),
      },
      { sort: "model", title: "Model", cell: ({ model }) => html`<bdi>${model}</bdi>` },
      { title: "Vector store", cell: storeLinks },
      { sort: "created_at", title: "Created", cell: ({ created_at }) => timeOf(created_at) },
    ],
    facts: (assistant) => [
      ["Model", html`<bdi>${assistant.model}</bdi>`],
      ["Vector store", storeLinks(assistant)],
      ["Created", timeOf(assistant.created_at)],
    ],
  },
});

/** The backend validates tools and resources: it knows which it has. */
function assistantSettings(body: Arguments<typeof assistantFields>): Record<never, never> {
  const { vector_store_id: store, ...rest } = withoutAbsent(body);
  if (store === undefined) return rest;
  if (rest.tools !== undefined || rest.tool_resources !== undefined) {
    throw new BadInputError("Give either 'vector_store_id' or 'tools' and 'tool_resources', not both.");
  }
  return {
    ...rest,
    tools: [{ type: "file_search" }],
    tool_resources: { file_search: { vector_store_ids: [store] } },
  };
}

function storeLinks(assistant: Assistant): Html {
  const ids = storesOf(assistant);
  if (ids.length === 0) return html`<span class="none">–</span>`;
  return html`${ids.map((id) => html`<a class="object-id" href="${storeAddress(id)}">${id}</a> `)}`;
}
