// Every file that a crawl leaves on disk is described on a page about formats.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { toFile } from "openai";
import sharp from "sharp";
import { verifyJob } from "../../src/app/verify-job.ts";
import type { VerifyResult } from "../../src/engine/verify/verify-domain.ts";
import type { JobRunner, JobWork } from "../../src/jobs/job-runner.ts";
import { startAzurite } from "../azurite.ts";
import { parseDomain, parseDomainInput } from "../kinds.ts";
import { openBlobWorld } from "../sources/blob-world.ts";
import { Pages } from "./ingest-stage.ts";
import { KNOWN } from "./known-files.ts";
import { DOMAIN, World } from "./world.ts";

const PAGES = fileURLToPath(new URL("../../docs/formats/", import.meta.url));

/** Named by the domain, held by the environment. */
const VARIABLE = "LOCKSTEP_KEPT_BLOBS";
const SOURCES = ["box", "docs", "pages", "share", "site", "tasks", "urls"];
const NOISE = {
  create: {
    width: 300,
    height: 200,
    channels: 3,
    background: "white",
    noise: { type: "gaussian", mean: 128, sigma: 30 },
  },
} as const;

/** A domain with a source of every kind, and what they list. */
async function openWorld(t: TestContext): Promise<{ readonly world: World; readonly folder: string }> {
  const [azurite, pages, folder] = [await startAzurite(), new Pages(), await mkdtemp(join(tmpdir(), "lockstep-kept-"))];
  await pages.open();
  const { container, put, sas } = await openBlobWorld(azurite.connectionString, "kept");
  process.env[VARIABLE] = await sas();
  const world = await World.open({ settings: { WEB_ALLOW_PRIVATE_NETWORKS: "true", WEB_HOST_DELAY_MS: "0" } });
  t.after(async () => {
    await Promise.all([world.close(), azurite.stop(), pages.close()]);
    await rm(folder, { recursive: true });
    delete process.env[VARIABLE];
  });
  await put("vole.txt", "A vole is small.");
  pages.files.set("/image.png", { type: "image/png", bytes: await sharp(NOISE).png().toBuffer() });
  pages.answers.set("/site", { text: "The okapi hides." });
  pages.answers.set("/alone", { text: 'The quagga is gone. <img src="/image.png" alt="A quagga">' });
  await world.change("add", { path: "a/good.txt", text: "The axolotl budget is 12 euros." });
  await world.change("add", { path: "broken.pdf", text: "no PDF at all" });
  const list = "/sites/demo/Lists/Tasks";
  await world.control("POST", "add-list", { path: list, title: "Tasks", columns: [{ name: "Details", type: "Note" }] });
  await world.control("POST", "add-item", { list, values: { Title: "Feed the wombat" } });
  const page = { path: "/sites/demo/SitePages/Home.aspx", title: "Home", text: "<p>The numbat</p>", published: true };
  await world.control("POST", "add-page", page);
  const site = { site_url: world.sandbox.siteUrl, filter: "" };
  const kinds = {
    list_sources: [{ source_id: "tasks", ...site, list_name: "Tasks" }],
    sitepage_sources: [{ source_id: "pages", ...site, sharepoint_url_part: "/SitePages" }],
    web_sources: [{ source_id: "site", start_urls: [pages.url("/site")] }],
    folder_sources: [{ source_id: "share", root: folder }],
    blob_sources: [{ source_id: "box", container_url: container.url, credential: VARIABLE }],
  };
  const domain = await world.app.domains.get(DOMAIN);
  await world.app.domains.update(parseDomain({ ...world.domainJson(), ...kinds }, DOMAIN), domain);
  const address = { url: pages.url("/alone"), title: "", domainId: DOMAIN, force: false, includeImages: true };
  await world.app.ingest.add(address);
  await world.app.ingest.workOne("test", new AbortController().signal);
  return { world, folder };
}

test("every file that a crawl leaves has a page that names it", async (t) => {
  const { world, folder } = await openWorld(t);
  await world.app.domains.create(parseDomainInput({ domain_id: "OTHER", name: "Other", vector_store_id: "vs_other" }));
  for (const verb of ["climbs", "sleeps"]) {
    await writeFile(join(folder, "ibex.md"), `# Ibex\n\nAn ibex ${verb}.`);
    const { result } = await world.crawl();
    assert.deepEqual(result.sources.map(({ source_id }) => source_id).sort(), SOURCES);
    if (verb === "climbs") await ask(world);
  }
  const verified = await (
    await world.app.runner.start(
      ...startOf(await verifyJob(world.app, { domainId: DOMAIN, download: true }, NO_REPAIR)),
    )
  ).done;
  assert.deepEqual(
    verdictsOf(verified.result?.data as VerifyResult),
    SOURCES.map((source) => `${source}: agrees`),
  );
  await world.openai().files.create({ file: await toFile(Buffer.from("by hand"), "b.txt"), purpose: "assistants" });

  const found = (await filesBelow(world.storage)).filter((path) => path !== "sandbox.pem");
  const unknown = found.filter((path) => !KNOWN.some(([pattern]) => pattern.test(path)));
  assert.deepEqual(unknown, [], "files without a row in the table of this test, and so without a page");
  const unused = KNOWN.filter(([pattern]) => !found.some((path) => pattern.test(path)));
  assert.deepEqual(unused, [], "rows for files that nobody writes any more");

  const list = await readFile(join(PAGES, "README.md"), "utf8");
  for (const [, page, words] of KNOWN) {
    assert.ok((await readFile(join(PAGES, page), "utf8")).includes(words), `${page} does not name ${words}`);
    assert.ok(list.includes(page), `README.md does not list ${page}`);
  }
});

/** Ten questions: the next crawl asks them. */
async function ask({ app }: World): Promise<void> {
  for (let number = 1; number <= 10; number += 1) {
    const question = { question: `What did ibex ${number} do?`, document: "ibex.md", sourceId: "", words: [] } as const;
    await app.questions.add(DOMAIN, question);
  }
}

const NO_REPAIR = { repair: false };

function startOf({ start, work }: JobWork): Parameters<JobRunner["start"]> {
  return [{ ...start, endpoint: "test" }, work];
}

function verdictsOf({ certificate }: VerifyResult): string[] {
  return certificate.statement.sources
    .map(({ source_id, verdict, differences, problems, behind }) =>
      [
        `${source_id}: ${verdict}`,
        ...[differences, problems, behind].filter((list) => list.length > 0).map((list) => JSON.stringify(list)),
      ].join(" "),
    )
    .sort();
}

/** Relative paths with `/`, the source's folder as `<source>`, and numbered claims as `#`. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .map((path) => path.replace(/^crawler\/\w+\/0\d_\w+\/\w+\//, "<source>/").replace(/\/\d+(\.free)?$/, "/#"));
  return [...new Set(paths)].sort();
}
