import { mkdir, rm } from "node:fs/promises";
import type { AskInit } from "../../http/ask.ts";
import type { History } from "../history.ts";
import { Share } from "../share.ts";

/** Vector stores by the OpenAI protocol and in the inventory, and what a crawl makes of changes in its own. */
export const storesHistory: History = {
  name: "stores",
  async play(stage) {
    const share = new Share(stage.beside("share"));
    await mkdir(share.root);
    await stage.serve();
    const idOf = async (what: string, init: AskInit): Promise<string> =>
      String((await stage.ask(what, init)).json["id"]);

    stage.act("files and stores by the protocol");
    const file = await idOf("POST /openai/v1/files", upload("note.md", "# Note\n\nA gecko climbs the wall."));
    stage.normaliser.learn(file, "file", "note.md uploaded");
    const store = await idOf("POST /openai/v1/vector_stores", { json: { name: "shelf", metadata: { of: "us" } } });
    await stage.ask(`POST /openai/v1/vector_stores/${store}/files`, {
      json: { file_id: file, attributes: { team: "a" } },
    });
    await stage.ask(`GET /openai/v1/files/${file}`);
    await stage.ask(`GET /openai/v1/files/${file}/content`);
    await stage.ask(`GET /openai/v1/vector_stores/${store}`);
    await stage.ask(`GET /openai/v1/vector_stores/${store}/files`);
    await stage.ask(`GET /openai/v1/vector_stores/${store}/files/${file}`);
    await stage.ask(`POST /openai/v1/vector_stores/${store}/search`, { json: { query: "gecko" } });
    await stage.ask(`POST /openai/v1/vector_stores/${store}/search`, {
      json: { query: "gecko", filters: { type: "eq", key: "team", value: "b" } },
    });
    await stage.ask(`POST /openai/v1/vector_stores/${store}/search`, { json: {} });
    await stage.ask("GET /openai/v1/vector_stores/vs_nobody");
    await stage.ask(`DELETE /openai/v1/vector_stores/${store}/files/${file}`);
    await stage.ask(`DELETE /openai/v1/files/${file}`);

    stage.act("the inventory");
    const domain = { domain_id: "SHELF", name: "Shelf", folder_sources: [{ source_id: "notes", root: share.root }] };
    await stage.quietly("POST /v2/domains/create", { json: domain });
    await share.write("gecko.md", "A gecko climbs the wall.");
    const crawl = (title: string, wishes?: string): Promise<void> =>
      stage.actCrawl(title, "SHELF", ["gecko", "skink"], wishes);
    await crawl("a domain is crawled");
    const { json } = await stage.quietly("GET /v2/domains/get?domain_id=SHELF&format=json");
    const own = String(json["data"]?.["vector_store_id"]);
    await stage.ask("GET /v2/inventory/files?format=json");
    await stage.ask("GET /v2/inventory/vector_stores?format=json");
    await stage.ask(`GET /v2/inventory/vector_stores/get?vector_store_id=${own}&format=json`);
    await stage.ask(`GET /v2/inventory/vector_stores/files?vector_store_id=${own}&format=json`);
    await stage.ask(`PUT /v2/inventory/vector_stores/update?vector_store_id=${store}`, { json: { name: "renamed" } });
    await stage.job(
      `/v2/inventory/vector_stores/replicate?source_vector_store_ids=${own}&target_vector_store_ids=${store}`,
    );
    await stage.ask(`GET /v2/inventory/vector_stores/files?vector_store_id=${store}&format=json`);
    await stage.ask(`DELETE /v2/inventory/vector_stores/delete?vector_store_id=${own}&dry_run=true`);

    await share.write("skink.md", "A skink hides below a stone.");
    await crawl("a file added");
    const { json: listed } = await stage.quietly(
      `GET /v2/inventory/vector_stores/files?vector_store_id=${own}&format=json`,
    );
    const files = listed["data"] as unknown as { id: string; filename: string }[];
    const gecko = files.find(({ filename }) => filename === "gecko.md")?.id ?? "";
    stage.act("a document is taken out of the domain's store, and a foreign one put in");
    await stage.ask(`DELETE /v2/inventory/vector_stores/files/delete?vector_store_id=${own}&file_id=${gecko}`);
    const foreign = await idOf("POST /openai/v1/files", upload("foreign.md", "A foreign gecko."));
    stage.normaliser.learn(foreign, "file", "foreign.md");
    await stage.ask(`POST /openai/v1/vector_stores/${own}/files`, { json: { file_id: foreign } });
    await crawl("crawled");
    await stage.ask(`GET /v2/inventory/vector_stores/files?vector_store_id=${own}&format=json`);
    stage.act("the store itself is deleted");
    await stage.ask(`DELETE /v2/inventory/vector_stores/delete?vector_store_id=${own}&mode=with_files`);
    await stage.search("SHELF", "gecko");
    await crawl("crawled");
    await rm(share.at("skink.md"));
    await crawl("a file deleted");
    stage.act("metadata is cleaned up");
    await stage.job("/v2/crawler/cleanup_metadata?domain_id=SHELF&dry_run=true");
    await stage.job("/v2/crawler/cleanup_metadata?domain_id=SHELF");
    await stage.look("SHELF");
  },
};

export function upload(name: string, content: string): AskInit {
  const part = (head: string, body: string): string =>
    `--edge\r\ncontent-disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
  return {
    body: `${part('name="purpose"', "assistants")}${part(`name="file"; filename="${name}"`, content)}--edge--\r\n`,
    headers: { "content-type": "multipart/form-data; boundary=edge" },
  };
}
