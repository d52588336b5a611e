import { mkdir } from "node:fs/promises";
import type { Reading } from "../../http/ask.ts";
import type { History } from "../history.ts";
import { Share } from "../share.ts";
import type { RecordedStage } from "../stage.ts";

const MODEL = "lockstep-extractive";

/** What the other histories do not ask for: every endpoint answers at least once, and refuses once. */
export const endpointsHistory: History = {
  name: "endpoints",
  async play(stage) {
    const share = new Share(stage.beside("share"));
    await mkdir(share.root);
    await stage.serve();
    await share.write("gecko.md", "# Gecko\n\nA gecko climbs the wall.");
    await share.write("skink.md", "# Skink\n\nA skink hides below a stone.");
    stage.act("what there is");
    await contract(stage);
    await stage.ask("GET /health");
    const domain = { domain_id: "ZOO", name: "Zoo", folder_sources: [{ source_id: "notes", root: share.root }] };
    await stage.ask("POST /v2/domains/create", { json: domain });
    await stage.ask(`GET /v2/domains/check_source?source_type=folder_sources&root=${share.root}&format=json`);
    await stage.ask("GET /v2/domains/check_source?source_type=file_sources&format=json");

    stage.act("a crawl, answered in json");
    await stage.ask("GET /v2/crawler/crawl?domain_id=ZOO&mode=incremental&format=json");
    stage.act("a crawl, answered as a stream");
    await stage.ask("GET /v2/crawler/crawl?domain_id=ZOO&mode=full&format=stream");

    stage.act("jobs");
    await stage.ask("GET /v2/jobs?format=json");
    await stage.ask("GET /v2/jobs?format=json&state=completed&router=crawler&limit=1");
    await stage.ask("GET /v2/jobs/get?job_id=jb_1&format=json");
    await stage.ask("GET /v2/jobs/results?job_id=jb_1&format=json");
    await stage.ask("GET /v2/jobs/monitor?job_id=jb_1&format=json");
    await stage.ask("GET /v2/jobs/monitor?job_id=jb_1&format=stream");
    await stage.ask("GET /v2/jobs/control?job_id=jb_1&action=pause");
    await stage.ask("GET /v2/jobs/control?job_id=jb_1&action=dance");
    await stage.ask("GET /v2/jobs/get?job_id=jb_99&format=json");
    await stage.ask("DELETE /v2/jobs/delete?job_id=jb_1&dry_run=true");
    await stage.ask("DELETE /v2/jobs/delete?job_id=jb_1");

    stage.act("reports");
    const { json } = await stage.ask("GET /v2/reports?format=json");
    const report = encodeURIComponent(String(json["data"]?.[0]?.["report_id"]));
    await stage.ask(`GET /v2/reports/get?report_id=${report}&format=json`);
    await stage.ask(`GET /v2/reports/file?report_id=${report}&file_path=05_folders/notes/files_map.csv&format=raw`);
    await stage.ask(`GET /v2/reports/file?report_id=${report}&file_path=nobody.csv&format=json`);
    await stage.ask("GET /v2/reports/get?report_id=crawls/nobody&format=json");
    await stage.ask(`DELETE /v2/reports/delete?report_id=${report}`);

    stage.act("questions");
    await stage.ask("GET /v2/search?query=gecko&domain_id=ZOO&format=json");
    await stage.ask("GET /v2/search?domain_id=ZOO&format=json");
    await stage.ask("GET /v2/search?query=gecko&domain_id=NOBODY&format=json");
    await stage.ask("GET /v2/search/explain?domain_id=ZOO&query=gecko&document=skink.md&format=json");
    await stage.ask("GET /query2?query=skink&domain_id=ZOO&format=json");
    await stage.ask("POST /query", { json: { data: { query: "skink", domain_id: "ZOO", nsearch: 1 } } });
    await stage.ask("POST /query", { json: { query: 7 } });
    await stage.ask("GET /describe2?format=json");
    await stage.ask("POST /describe", { json: {} });
    await stage.ask("GET /api/Search?q=gecko&domain_id=ZOO");
    await stage.ask("GET /v2/documents?domain_id=ZOO&status=lost&format=json");

    stage.act("the rest of the inventory");
    const assistant = await made(stage, "assistants", { model: MODEL, name: "Ada" });
    await stage.ask("GET /v2/inventory/assistants?format=json");
    await stage.ask(`GET /v2/inventory/assistants/get?assistant_id=${assistant}&format=json`);
    await stage.ask(`PUT /v2/inventory/assistants/update?assistant_id=${assistant}`, { json: { name: "Eve" } });
    await stage.ask(`DELETE /v2/inventory/assistants/delete?assistant_id=${assistant}`);
    const response = await made(stage, "responses", { model: MODEL, input: "Who climbs the wall?" });
    await stage.ask("GET /v2/inventory/responses?format=json");
    await stage.ask(`GET /v2/inventory/responses/get?response_id=${response}&format=json`);
    await stage.ask(`DELETE /v2/inventory/responses/delete?response_id=${response}`);
    const store = await made(stage, "vector_stores", { name: "made" });
    await stage.ask(`GET /v2/inventory/vector_stores/get?vector_store_id=${store}&format=json`);
    await stage.ask(`DELETE /v2/inventory/vector_stores/delete?vector_store_id=${store}`);
    await stage.ask("GET /v2/inventory/files/get?file_id=file-nobody&format=json");
    await stage.ask("GET /openai/v1/models");

    stage.act("maintenance");
    await stage.ask("GET /v2/maintenance?dry_run=true&format=json");
    await stage.ask("GET /v2/maintenance?domain_id=NOBODY&format=json");
    await stage.ask("GET /v2/ingest/status?format=json");
    await stage.ask("GET /v2/ingest/items/get?item_id=nobody&format=json");
    await stage.ask("GET /v2/nobody?format=json");
    await stage.ask("PATCH /v2/domains");
    await stage.ask("POST /v2/domains/create", { body: "{", headers: { "content-type": "application/json" } });
    await stage.ask("GET /v2/domains?format=xml");
    await stage.ask("GET /v2/domains?format=json&colour=red");

    stage.act("keys");
    const { json: key } = await stage.ask("POST /v2/keys/create", { json: { name: "ada", role: "admin" } });
    const headers = { "api-key": String(key["data"]?.["key"]) };
    await stage.ask("GET /v2/domains?format=json");
    await stage.ask("GET /v2/keys?format=json", { headers });
    await stage.ask("POST /v2/keys/create", { headers, json: { name: "bob", role: "reader" } });
    await stage.ask("GET /v2/audit?format=json", { headers });
    await stage.ask(`DELETE /v2/keys/delete?key_id=${String(key["data"]?.["key_id"])}`, { headers });
  },
};

async function made(stage: RecordedStage, kind: string, json: object): Promise<string> {
  const { json: answer } = await stage.ask(`POST /v2/inventory/${kind}/create`, { json });
  return String(answer["data"]?.["id"]);
}

/** Addresses, methods and parameters, as the OpenAPI document has them. */
async function contract(stage: RecordedStage): Promise<void> {
  const { json } = await stage.quietly("GET /openapi.json");
  const paths = json["paths"] as unknown as Record<string, Record<string, { parameters?: Reading[] }>>;
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters = [] }]) => {
      const names = parameters.map((one) => `${String(one["name"])}${one["required"] ? "" : "?"}`);
      return `${method.toUpperCase()} ${path} ${names.sort().join(" ")}`.trim();
    }),
  );
  stage.recording.noteRows("answers", "endpoints and their parameters", lines);
}
