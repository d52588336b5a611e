import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { CrawlResult } from "../../src/engine/crawl-request.ts";
import type { SandboxSite } from "../../src/sandbox/site/start-site.ts";
import { DOMAIN, type World } from "../engine/world.ts";
import { type AskInit, ask, type Reading } from "./ask.ts";
import type { Thing } from "./notation-checks.ts";

/** What answers where no model is configured. */
const ANSWERING = "lockstep-extractive";
const NOTES_A_CRAWL = 8;
const CRAWL_NEEDS = ["domain_id"];

/** By resource: how items of it come to be in an installation that works. */
export function thingsOf(
  stage: () => {
    readonly world: World;
    readonly url: string;
    readonly site: SandboxSite;
    /** An empty folder. */
    readonly notes: string;
  },
): Readonly<Record<string, Thing>> {
  let made = 0;
  const post = async (path: string, init: AskInit): Promise<Reading> => {
    const reply = await ask(stage().url, `POST ${path}`, init);
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  const wireId = async (path: string, init: AskInit): Promise<string> =>
    String((await post(`/openai/v1/${path}`, init))["id"]);
  const makeFile = (): Promise<string> => wireId("files", upload(`note-${++made}.txt`, `Note number ${made}.`));
  const makeStore = (): Promise<string> => wireId("vector_stores", { json: { name: `Store ${++made}` } });

  const shelf = once(makeStore);
  const storeOfFiles = async (): Promise<Record<string, string>> => ({ vector_store_id: await shelf() });
  const makeStoreFile = async (): Promise<string> => {
    const file = await makeFile();
    const { vector_store_id } = await storeOfFiles();
    return wireId(`vector_stores/${vector_store_id}/files`, { json: { file_id: file } });
  };
  const makeDomain = async (): Promise<string> => {
    const id = `MADE_${++made}`;
    await post("/v2/domains/create", { json: { domain_id: id, name: id, description: "Made for a test." } });
    return id;
  };
  const makeJob = async (): Promise<string> => {
    const start = { router: "crawler", action: "crawl", object: DOMAIN, endpoint: "test", dryRun: true };
    const job = await stage().world.app.runner.start(start, async () => ({ ok: true, error: "", data: { made } }));
    await job.done;
    return job.jobId;
  };
  const makeEndlessJob = async (): Promise<string> => {
    const start = { router: "crawler", action: "crawl", object: "NOBODY", endpoint: "test", dryRun: true };
    const { jobId } = await stage().world.app.runner.start(start, async (job) => {
      await new Promise((resolve) => job.signal.addEventListener("abort", resolve, { once: true }));
      return { ok: false, error: "Stopped.", data: {} };
    });
    return jobId;
  };
  const makeReport = async (): Promise<string> => {
    const { result } = await stage().world.runToEnd({ mode: "incremental" });
    const { report_id } = (result?.data ?? {}) as CrawlResult;
    return report_id || assert.fail(`the crawl left no report: ${result?.error}`);
  };
  const makePlan = async (): Promise<string> => {
    const { json } = await ask(stage().url, `GET /v2/crawler/crawl?domain_id=${DOMAIN}&plan=store&format=json`);
    return String(json["data"]?.["plan_id"] ?? assert.fail(JSON.stringify(json)));
  };
  const kept = once(makeReport);
  const keptReport = async (): Promise<Record<string, string>> => ({ report_id: await kept() });
  const crawl = { needs: CRAWL_NEEDS, act: async () => ({ domain_id: DOMAIN, dry_run: "true" }) };
  const endedJob = { needs: ["job_id"], act: async () => ({ job_id: await makeJob() }) };

  const makeItem = async (path: string): Promise<string> => {
    const wanted = { url: stage().site.origin + path, include_images: true };
    return String((await post("/v2/ingest/items/create", { json: wanted }))["data"]?.["id"]);
  };
  /** A page that was looked at, with a picture. */
  const illustrated = once(async (): Promise<Record<string, string>> => {
    const id = await makeItem("/guides/winter");
    while (await stage().world.app.ingest.workOne("notation", AbortSignal.timeout(600_000)));
    const [image] = await stage().world.app.ingest.images.of(id as ItemId);
    return { item_id: id, image_id: image?.id ?? assert.fail("the page has no picture") };
  });
  const ofRegistry = async (): Promise<Record<string, string>> => {
    await makeItem("/");
    return { domain_id: "INGEST" };
  };

  /** A file of a folder, with two versions. */
  const edited = once(async (): Promise<Record<string, string>> => {
    const { notes: root } = stage();
    const folder_sources = [{ source_id: "notes", root }];
    await post("/v2/domains/create", { json: { domain_id: "NOTES", name: "Notes", description: "", folder_sources } });
    for (const text of ["A note.", "Another note."]) {
      await writeFile(join(root, "note.md"), text);
      const { json } = await ask(stage().url, "GET /v2/crawler/crawl?domain_id=NOTES&mode=incremental&format=json");
      assert.equal(json["error"], "");
    }
    return { domain_id: "NOTES", document: "note.md" };
  });

  /** Notes that may go; one crawl brings in several. */
  const notes: string[] = [];
  const another = async (): Promise<Record<string, string>> => {
    const { domain_id = "" } = await edited();
    if (notes.length === 0) {
      for (let i = 0; i < NOTES_A_CRAWL; i++) {
        const name = `gone-${++made}.md`;
        await writeFile(join(stage().notes, name), `Note ${made} is not needed.`);
        notes.push(name);
      }
      await ask(stage().url, `GET /v2/crawler/crawl?domain_id=${domain_id}&mode=incremental&format=json`);
    }
    return { domain_id, document: notes.pop() ?? "" };
  };
  const erased = async (): Promise<Record<string, string>> => {
    const { domain_id = "", document = "" } = await another();
    await post(`/v2/documents/erase?domain_id=${domain_id}&document=${document}`, {});
    const { json } = await ask(stage().url, `GET /v2/documents/erased?domain_id=${domain_id}`);
    const { erased: items } = json["data"] as unknown as { readonly erased: readonly { readonly item: string }[] };
    return { domain_id, item: items.at(-1)?.item ?? "" };
  };
  const held = async (): Promise<Record<string, string>> => {
    await post(`/v2/documents/hold?domain_id=${DOMAIN}`, {});
    return { domain_id: DOMAIN };
  };

  const asked = async (): Promise<Record<string, string>> => {
    const question = { ...(await edited()), question: `What does note ${++made} say?` };
    await post(`/v2/domains/questions/add?${new URLSearchParams(question)}`, {});
    return question;
  };
  const uploaded = async (): Promise<Record<string, string>> => {
    const file = { domain_id: DOMAIN, path: `sent-${++made}.md` };
    await post(`/v2/domains/uploads/put?${new URLSearchParams(file)}`, { body: "It was sent." });
    return file;
  };
  const ofDomain = async (): Promise<Record<string, string>> => ({ domain_id: DOMAIN });
  const verified = once(async (): Promise<Record<string, string>> => {
    await ask(stage().url, `GET /v2/crawler/verify?domain_id=${DOMAIN}&format=json`);
    return { domain_id: DOMAIN };
  });
  const activeGeneration = async (): Promise<number> => (await stage().world.app.generations(DOMAIN)).shown;

  return {
    "/v2/inventory": {},
    "/v2/inventory/files": { idName: "file_id", make: makeFile },
    "/v2/inventory/vector_stores": {
      idName: "vector_store_id",
      make: makeStore,
      create: (serial) => ({ name: `Created ${serial}` }),
      update: { name: "Renamed" },
    },
    "/v2/inventory/vector_stores/files": { idName: "file_id", where: storeOfFiles, make: makeStoreFile },
    "/v2/inventory/vector_stores/replicate": {
      needs: ["source_vector_store_ids", "target_vector_store_ids"],
      act: async () => ({
        source_vector_store_ids: (await storeOfFiles())["vector_store_id"] ?? "",
        target_vector_store_ids: `${await makeStore()},${await makeStore()}`,
      }),
    },
    "/v2/inventory/assistants": {
      idName: "assistant_id",
      make: () => wireId("assistants", { json: { model: ANSWERING, name: `Assistant ${++made}` } }),
      create: (serial) => ({ model: ANSWERING, name: `Created ${serial}` }),
      update: { name: "Renamed" },
    },
    "/v2/inventory/responses": {
      idName: "response_id",
      make: () => wireId("responses", { json: { model: ANSWERING, input: "What is on the shelf?" } }),
      create: (serial) => ({ model: ANSWERING, input: `Question ${serial}` }),
    },
    "/v2/domains": {
      idName: "domain_id",
      make: makeDomain,
      create: (serial) => ({ domain_id: `CREATED_${serial}`, name: `Created ${serial}`, description: "" }),
      update: { name: "Renamed", description: "Changed as well." },
    },
    "/v2/crawler": {},
    "/v2/crawler/download_data": crawl,
    "/v2/crawler/process_data": crawl,
    "/v2/crawler/embed_data": crawl,
    "/v2/crawler/crawl": crawl,
    "/v2/crawler/cleanup_metadata": crawl,
    "/v2/crawler/plans": { idName: "plan_id", make: makePlan },
    "/v2/crawler/plans/file": { needs: ["plan_id"], act: async () => ({ plan_id: await makePlan() }) },
    "/v2/crawler/apply": { needs: ["plan_id"], act: async () => ({ plan_id: await makePlan() }) },
    "/v2/crawler/verify": { needs: ["domain_id"], act: ofDomain },
    "/v2/maintenance": { act: ofDomain },
    "/v2/jobs": { idName: "job_id", make: makeJob },
    "/v2/jobs/control": {
      needs: ["job_id", "action"],
      act: async () => ({ job_id: await makeEndlessJob(), action: "cancel" }),
    },
    "/v2/jobs/monitor": endedJob,
    "/v2/jobs/results": endedJob,
    "/v2/reports": { idName: "report_id", make: makeReport },
    "/v2/reports/file": {
      needs: ["report_id", "file_path"],
      act: async () => ({ ...(await keptReport()), file_path: "01_files/docs/files_map.csv" }),
    },
    "/v2/crawler/maps": { needs: ["domain_id"], act: ofDomain },
    "/v2/reports/download": { needs: ["report_id"], act: keptReport },
    "/v2/domains/check": { needs: ["domain_id"], act: ofDomain },
    "/v2/domains/check_source": {
      needs: ["source_type", "site_url"],
      act: async () => ({
        source_type: "file_sources",
        site_url: stage().world.sandbox.siteUrl,
        sharepoint_url_part: "/Shared Documents",
      }),
    },
    "/v2/search": { needs: ["query"], act: async () => ({ query: "hotels", domain_id: DOMAIN }) },
    "/v2/search/answer": { needs: ["query"], act: async () => ({ query: "hotels", domain_id: DOMAIN }) },
    "/v2/search/explain": {
      needs: ["domain_id", "query", "document"],
      act: async () => ({ domain_id: DOMAIN, query: "hotels", document: "Handbook.md" }),
    },
    "/v2/answers": {},
    "/v2/answers/choose": { act: async () => ({ model: "" }) },
    "/v2/audit": {},
    "/v2/documents": {
      idName: "document",
      where: async () => ({ domain_id: (await edited())["domain_id"] ?? "" }),
      make: async () => (await edited())["document"] ?? "",
    },
    "/v2/documents/erase": { needs: ["domain_id"], act: another },
    "/v2/documents/erased": { needs: ["domain_id"], act: ofDomain },
    "/v2/documents/allow": { needs: ["domain_id", "item"], act: erased },
    "/v2/documents/hold": { needs: ["domain_id"], act: edited },
    "/v2/documents/lift_hold": { needs: ["domain_id"], act: held },
    "/v2/documents/read": {
      needs: ["domain_id", "item_id"],
      async act() {
        const { domain_id = "", document = "" } = await edited();
        const { json } = await ask(
          stage().url,
          `GET /v2/documents/get?${new URLSearchParams({ domain_id, document })}`,
        );
        return { domain_id, source_id: "notes", item_id: String(json["data"]?.["doc_id"]) };
      },
    },
    "/v2/documents/failed": { needs: ["domain_id"], act: ofDomain },
    "/v2/documents/acknowledge": { needs: ["domain_id"], act: ofDomain },
    "/v2/documents/version": { needs: ["domain_id", "document"], act: edited },
    "/v2/documents/sections": { needs: ["domain_id", "document"], act: edited },
    "/v2/documents/difference": {
      needs: ["domain_id", "document", "from", "to"],
      act: async () => ({ ...(await edited()), from: "v1", to: "v2" }),
    },
    "/v2/ingest/items": {
      idName: "item_id",
      make: () => makeItem(`/made-${++made}`),
      create: (serial) => ({ url: `https://docs.example.com/created-${serial}` }),
    },
    "/v2/ingest/rebuild": { act: async () => ({ ...(await ofRegistry()), dry_run: "true" }) },
    "/v2/ingest/status": { act: ofRegistry },
    "/v2/ingest/images/get": { needs: ["item_id", "image_id"], act: illustrated },
    "/v2/describe": { act: ofDomain },
    "/v2/domains/certificates": { needs: ["domain_id"], act: ofDomain },
    "/v2/domains/certificates/get": { needs: ["domain_id"], act: verified },
    "/v2/domains/feedback": { needs: ["domain_id"], act: ofDomain },
    "/v2/domains/feedback/dismiss": {
      needs: ["domain_id", "question"],
      async act() {
        const json = { domain_id: DOMAIN, question: `Is ${++made} odd?`, vote: "down" };
        await post("/v2/feedback", { json });
        return { domain_id: json.domain_id, question: json.question };
      },
    },
    "/v2/domains/questions": { needs: ["domain_id"], act: ofDomain },
    "/v2/domains/questions/ask": { needs: ["domain_id"], act: ofDomain },
    "/v2/domains/questions/add": { needs: ["domain_id", "question", "document"], act: asked },
    "/v2/domains/questions/remove": {
      needs: ["domain_id", "question"],
      async act() {
        const { document: _, ...question } = await asked();
        return question;
      },
    },
    "/v2/domains/questions/make": { needs: ["domain_id"], act: ofDomain },
    "/v2/domains/questions/limits": { needs: ["domain_id"], act: async () => ({ domain_id: DOMAIN, min_lost: "3" }) },
    "/v2/domains/uploads": { needs: ["domain_id"], act: ofDomain },
    "/v2/domains/uploads/remove": { needs: ["domain_id", "path"], act: uploaded },
    "/v2/domains/generations": { needs: ["domain_id"], act: ofDomain },
    "/v2/domains/generations/difference": {
      needs: ["domain_id", "from", "to"],
      act: async () => ({ domain_id: DOMAIN, from: "1", to: String(await activeGeneration()) }),
    },
    "/v2/domains/generations/rollback": {
      needs: ["domain_id", "generation"],
      act: async () => ({ domain_id: DOMAIN, generation: String(await activeGeneration()), dry_run: "true" }),
    },
    "/v2/domains/generations/release": {
      needs: ["domain_id"],
      async act() {
        await stage().world.app.rollback(DOMAIN, await activeGeneration(), { dryRun: false });
        return { domain_id: DOMAIN };
      },
    },
  };
}

/** Keys of a server on which one has to bring one. */
export function keysOf(stage: () => { readonly world: World; readonly key: string }): Thing {
  let made = 0;
  return {
    idName: "key_id",
    onlyListed: true,
    headers: () => ({ "api-key": stage().key }),
    create: (serial) => ({ name: `Created ${serial}`, role: "read" }),
    async make() {
      const wanted = { name: `Made ${++made}`, role: "read", expiresAt: "" } as const;
      return (await stage().world.app.access.keys.create(wanted)).id;
    },
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function upload(name: string, content: string): AskInit {
  const part = (head: string, body: string): string =>
    `--edge\r\ncontent-disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
  return {
    body: `${part('name="purpose"', "assistants")}${part(`name="file"; filename="${name}"`, content)}--edge--\r\n`,
    headers: { "content-type": "multipart/form-data; boundary=edge" },
  };
}
