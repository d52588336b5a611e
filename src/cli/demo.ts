import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { styleText } from "node:util";
import type { App } from "../app/app.ts";
import { loadEnvironment } from "../app/setting-reader.ts";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import { BadInputError, NotFoundError, RemoteError } from "../contracts/errors.ts";
import { parseDomainId } from "../contracts/ids.ts";
import { parseDomain } from "../domains/domain-codec.ts";
import { formatSource } from "../domains/source-codec.ts";
import type { VerifyResult } from "../engine/verify/verify-domain.ts";
import { type RunningServer, serveHttp } from "../http/serve-http.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { plural } from "../lib/text.ts";
import { demoFolderFiles, demoMove, demoQuestions, folderQuestion, siteQuestion } from "../sandbox/seed/demo.ts";
import { type SandboxSite, startCompanySite } from "../sandbox/site/start-site.ts";
import { type Sandbox, startSandbox } from "../sandbox/start-sandbox.ts";
import type { Command } from "./command.ts";
import { showJob } from "./job-view.ts";
import { exitCodeOf, openApp, untilStopped } from "./open-app.ts";
import { sandboxSettings, saveCertificate } from "./sandbox.ts";
import { type ShownPassage, showAnswer } from "./show-answer.ts";

const DEMO_ID = parseDomainId("DEMO");
const PASSAGES_SHOWN = 2;

export const demoCommand: Command = {
  name: "demo",
  arguments: [],
  options: { once: { help: "Ends after the answers instead of serving the pages." } },
  examples: ["npm run demo", "npm run demo -- --once"],
  async run(call) {
    const stopped = untilStopped();
    const environment = loadEnvironment(process.cwd());
    const storage = await demoStorage(environment["PERSISTENT_STORAGE_PATH"]);
    const sandbox = await startSandbox({ port: Number(environment["SANDBOX_PORT"] ?? 0) });
    const site = await startCompanySite();
    const folder = await createDemoFolder();
    const sources: Sources = { sandbox, site, folder };
    try {
      const app = await openDemoApp(sandbox, storage, environment["PORT"] ?? "0");
      let server: RunningServer | undefined;
      try {
        await createDemoDomain(app, sources);
        server = await serveHttp(app, { host: app.config.host, port: app.config.port });
        const early = await Promise.race([stopped, demonstrate(app, server, sources)]);
        if (early) return exitCodeOf(early);
        if (call.flag("once")) return 0;
        showWhatNext(server, sources);
        await stopped;
        return 0;
      } finally {
        await app.close();
        await server?.close();
      }
    } finally {
      await Promise.all([sandbox.stop(), site.close(), folder.remove()]);
    }
  },
};

async function openDemoApp(sandbox: Sandbox, storage: string, port: string): Promise<App> {
  const certificate = await saveCertificate(sandbox, join(storage, "demo-sandbox.pem"));
  return openApp({
    // The sandbox must not get a real tenant's certificate from `.env`.
    CRAWLER_CLIENT_CERTIFICATE_PFX_FILE: "",
    CRAWLER_CLIENT_CERTIFICATE_PASSWORD: "",
    ...sandboxSettings(sandbox, certificate),
    PERSISTENT_STORAGE_PATH: storage,
    PORT: port,
    OPENAI_SERVICE_TYPE: "embedded",
    // The site is on this machine: no need for delays between requests, or to wait for hours until a missing page is removed.
    WEB_ALLOW_PRIVATE_NETWORKS: "true",
    WEB_HOST_DELAY_MS: "0",
    CRAWL_GONE_SPACING_SECONDS: "0",
    CRAWL_MOVED_SPACING_SECONDS: "0",
  });
}

interface Sources {
  readonly sandbox: Sandbox;
  readonly site: SandboxSite;
  readonly folder: DemoFolder;
}

async function demonstrate(app: App, server: RunningServer, { sandbox, site, folder }: Sources): Promise<void> {
  step(
    `The sandbox tenant, a simulated SharePoint, listens on ${sandbox.url}, the company's web site on ${site.origin}; its shared drive is ${folder.root}`,
  );
  step(`lockstep listens on ${server.url} (storage: ${app.config.storagePath})`);
  step("Crawling the domain DEMO");
  await crawlDemo(server, "all");
  for (const { question } of [...demoQuestions, siteQuestion]) await ask(server, question);
  step(`Somebody tidies up the shared drive: '${demoMove.from}' becomes '${demoMove.to}'. It stays the same document`);
  await folder.tidyUp();
  await crawlDemo(server, "folders");
  await ask(server, folderQuestion.question);
  step("Do sources, mirror, index and search say the same? Everything is looked at again, and the answer is signed");
  await verifyDemo(server);
}

/** Returns an empty folder of the demo, unless the environment names one: that is the user's and is kept. */
async function demoStorage(configured: string | undefined): Promise<string> {
  if (configured) return resolve(configured);
  const folder = resolve("storage", "demo");
  await rm(folder, { recursive: true, force: true });
  return folder;
}

async function createDemoDomain(app: App, { sandbox, site, folder }: Sources): Promise<void> {
  const place = { site_url: sandbox.siteUrl, filter: "" };
  const library = (source_id: string, sharepoint_url_part: string) => ({ source_id, ...place, sharepoint_url_part });
  const json = {
    name: "Demo",
    description:
      "The documents, suppliers and pages of a small company, from the sandbox tenant, its web site, and its shared drive.",
    vector_store_name: "demo",
    vector_store_id: "",
    file_sources: [library("documents", "/Shared Documents"), library("contracts", "/Contracts")],
    list_sources: [{ source_id: "suppliers", ...place, list_name: "Suppliers" }],
    sitepage_sources: [library("pages", "/SitePages")],
    // The site of an earlier run had another port: its pages are out of scope now, and are removed.
    web_sources: [{ source_id: "help", start_urls: [`${site.origin}/`], include: [`${site.origin}/**`], images: true }],
    folder_sources: [{ source_id: "drive", root: folder.root }],
  };
  try {
    const existing = await app.domains.get(DEMO_ID);
    refuseForeign(existing, app.config.storagePath);
    await app.domains.update(
      parseDomain({ ...json, vector_store_id: existing.vectorStoreId }, DEMO_ID, app.domains.kinds),
      existing,
    );
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    await app.domains.create(parseDomain(json, DEMO_ID, app.domains.kinds));
  }
}

/** A storage folder named by the user may hold a domain of this name that the demo must not overwrite. */
function refuseForeign({ sources }: Domain, storage: string): void {
  const isOurs = sources.length > 0 && sources.every(isOfDemo);
  if (isOurs) return;
  throw new BadInputError(
    `The domain '${DEMO_ID}' in ${storage} was not made by the demo, which would rewrite it. Set PERSISTENT_STORAGE_PATH to another folder, or to none.`,
  );
}

function isOfDemo(source: SourceConfig): boolean {
  const { root, site_url, start_urls } = formatSource(source);
  if (typeof root === "string") return isDemoFolder(root);
  const address = Array.isArray(start_urls) ? start_urls[0] : site_url;
  return isLoopbackHost(URL.parse(String(address))?.hostname ?? "");
}

/** Uses the server, as any client would. */
async function crawlDemo(server: RunningServer, scope: string): Promise<void> {
  const address = `${server.url}/v2/crawler/crawl?domain_id=${DEMO_ID}&mode=incremental&scope=${scope}&format=stream`;
  const response = await fetch(address);
  if (!response.ok || !response.body) throw new RemoteError(`crawl ${DEMO_ID}: ${await response.text()}`);
  await showJob(response.body);
  const jobs = await getJson<{ data: { job_id: string; result: { ok: boolean; error: string } }[] }>(
    `${server.url}/v2/jobs?format=json`,
  );
  const result = jobs.data[0]?.result;
  if (!result?.ok) throw new RemoteError(`crawl ${DEMO_ID}: ${result?.error ?? "the job has no result"}`);
}

/** Shows the certificate's line; a demo whose index differs from its sources fails. */
async function verifyDemo(server: RunningServer): Promise<void> {
  const address = `${server.url}/v2/crawler/verify?domain_id=${DEMO_ID}&format=json`;
  const { ok, error, data } = await getJson<{ ok: boolean; error: string; data: VerifyResult }>(address);
  const { certificate, certificate_file, certificate_hash } = data;
  if (!ok || !certificate) throw new RemoteError(`verify ${DEMO_ID}: ${error}`);
  const { statement, signature } = certificate;
  const documents = statement.sources.reduce((sum, { counts }) => sum + counts.documents, 0);
  process.stdout.write(
    `   ${DEMO_ID}: ${statement.verdict}; ${plural(statement.sources.length, "source")}, ${plural(documents, "document")}\n   Certificate ${certificate_file}\n   ${certificate_hash}, signed by ${signature.fingerprint}\n`,
  );
}

async function ask(server: RunningServer, question: string): Promise<void> {
  step(question);
  const parameters = new URLSearchParams({ query: question, results: String(PASSAGES_SHOWN), format: "json" });
  const answer = await getJson<QueryBody>(`${server.url}/query2?${parameters}`);
  showAnswer(answer.data.sources.map(toPassage));
  if (answer.data.sources.length === 0) throw new RemoteError(`ask '${question}': nothing was found`);
}

interface QueryBody {
  readonly data: {
    readonly sources: readonly {
      readonly data: string;
      readonly source: string;
      readonly metadata: {
        readonly score: number;
        readonly title?: string;
        readonly filename?: string;
        readonly section_path?: string;
        readonly last_modified_utc?: string;
        readonly source_checked_utc?: string;
      };
    }[];
  };
}

function toPassage(source: QueryBody["data"]["sources"][number]): ShownPassage {
  const { score, title = "", filename, section_path, last_modified_utc, source_checked_utc } = source.metadata;
  return {
    name: filename ?? source.source,
    title,
    modifiedAt: last_modified_utc ?? "",
    checkedAt: source_checked_utc ?? "",
    url: source.source,
    sectionPath: section_path ?? "",
    score,
    text: source.data,
  };
}

async function getJson<T>(address: string): Promise<T> {
  const response = await fetch(address);
  if (!response.ok) throw new RemoteError(`get ${address}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

function showWhatNext(server: RunningServer, { sandbox, site, folder }: Sources): void {
  step("Your turn");
  process.stdout.write(`   The pages:   ${server.url}/
   The tenant:  ${sandbox.url}/_sandbox  (rename, edit or delete documents; docs/sandbox.md tells how)
   The site:    ${site.origin}/  (edit, delete or unlink pages through ${site.origin}/_site)
   The drive:   ${folder.root}  (add, rename, edit or delete files)
   Then crawl again and ask again. Ctrl+C ends the demo.
`);
}

function step(text: string): void {
  process.stdout.write(
    `\n${styleText(["bold", "green"], "▶", { stream: process.stdout })} ${styleText("bold", text, { stream: process.stdout })}\n`,
  );
}

const NAME_BEGINS = "lockstep-demo-";

/** A shared drive of a few files. */
export interface DemoFolder {
  readonly root: string;
  /** Renames a file and moves it to another folder. */
  tidyUp(): Promise<void>;
  remove(): Promise<void>;
}

/** Creates a temporary folder: the storage itself is never a source. */
async function createDemoFolder(): Promise<DemoFolder> {
  const root = await mkdtemp(join(tmpdir(), NAME_BEGINS));
  for (const [path, text] of Object.entries(demoFolderFiles)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return {
    root,
    tidyUp: () => rename(join(root, demoMove.from), join(root, demoMove.to)),
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

function isDemoFolder(root: string): boolean {
  return basename(root).startsWith(NAME_BEGINS);
}
