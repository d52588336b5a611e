// Every page of the product, for those who look after it and for readers: on a phone and a wide screen, in light and dark, by keyboard, and read without scripts.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type SandboxSite, startCompanySite } from "../../src/sandbox/site/start-site.ts";
import { DOMAIN } from "../engine/world.ts";
import { ask } from "../http/ask.ts";
import { ADDITIONS, type Expected, expand, SPECIFICATION, WITH_A_KEY } from "../http/notation.ts";
import { keysOf, thingsOf } from "../http/notation-things.ts";
import { BrowserStage } from "./browser-stage.ts";
import { assertEverywhere, assertReadable } from "./every-look.ts";
import { expectRefusal, leave, type Visit } from "./visit.ts";

/** Beside those of the list of endpoints. */
const FURTHER = [
  "/",
  "/nowhere",
  "/describe2?format=html",
  "/query2?query=hotels",
  `/v2/search?format=ui&query=hotel+night&domain_id=${DOMAIN}`,
  "/v2/search?format=ui&query=Who+won+in+1998%3F",
  "/v2/crawler?format=ui&job_id=jb_1",
  "/v2/jobs/get?format=html&job_id=jb_99999",
  `/v2/domains/questions/ask?format=html&domain_id=${DOMAIN}`,
];

const LINES = [...SPECIFICATION, ...ADDITIONS, ...WITH_A_KEY].flatMap((line) => expand(line));
const isPage = (format: string): boolean => format === "html" || format === "ui";
const PAGES = LINES.filter(({ methods, formats }) => methods.includes("GET") && formats.some(isPage));

/** Opening it a second time does nothing again. */
const isReading = ({ letter, path, formats }: Expected): boolean =>
  (letter === "L" || letter === "G") && (!formats.includes("stream") || /search|jobs/.test(path));

describe("every page in a browser", () => {
  let stage: BrowserStage;
  let site: SandboxSite;
  let notes: string;
  let drive: string;
  before(async () => {
    notes = await mkdtemp(join(tmpdir(), "lockstep-notes-"));
    site = await startCompanySite();
    drive = await mkdtemp(join(tmpdir(), "lockstep-drive-"));
    await mkdir(join(drive, "Wiedehopfberingungsgesellschaft der Stadt"), { recursive: true });
    await writeFile(
      join(drive, "Wiedehopfberingungsgesellschaft der Stadt", "Jahresbericht_2025_final-final.md"),
      "# Bericht\n\nDie Vögel.",
    );
    await writeFile(join(drive, "broken.docx"), "no Word document");
    await writeFile(join(drive, "film.mp4"), "a film");
    const domain = {
      folder_sources: [{ source_id: "shared-drive-of-the-company", root: drive }],
      web_sources: [{ source_id: "help", start_urls: [`${site.origin}/`] }],
    };
    const settings = { WEB_ALLOW_PRIVATE_NETWORKS: "true", RATE_LIMIT_PER_SECOND: "0" };
    stage = await BrowserStage.open({ seed: "company", settings, domain }, async (world) => {
      await world.change("add", { path: "Handbook.md", text: "# Handbook\n\nHotels cost up to 180 EUR." });
      for (let crawl = 0; crawl < 3; crawl++) {
        await world.change("add", { path: `Note ${crawl}.md`, text: `# Note ${crawl}\n\nIt says ${crawl}.` });
        await world.runToEnd();
      }
    });
  });
  after(async () => {
    await stage?.close();
    await site?.close();
    for (const folder of [notes, drive]) await rm(folder, { recursive: true });
  });

  const things = thingsOf(() => ({ world: stage.world, url: stage.url, site, notes }));
  const queryOf = async ({ resource, path }: Expected): Promise<Record<string, string>> => {
    const thing = path.startsWith("/v2/keys") ? keysOf(() => ({ world: stage.world, key: "" })) : things[resource];
    if (!thing) assert.fail(`nobody says how to get ${resource}`);
    const where = (await thing.where?.()) ?? {};
    if (thing.act) return { ...where, ...(await thing.act()) };
    if (path === resource || !thing.make) return where;
    return { ...where, [thing.idName ?? ""]: await thing.make() };
  };

  it("walks all that the product has", async () => {
    const { paths } = (await ask(stage.url, "GET /openapi.json")).json as unknown as {
      paths: Record<string, Operations>;
    };
    const walked = [...PAGES.map(({ path }) => path), ...FURTHER.map((address) => address.split("?")[0])];
    for (const [path, { get }] of Object.entries(paths)) {
      const format = get?.parameters.find(({ name }) => name === "format");
      if (format?.schema.enum.some(isPage)) assert.ok(walked.includes(path), path);
    }
  });

  /** Of pages that only read. */
  const seen: string[] = [];

  describe("as one who looks after it", () => {
    let scripted: Visit;
    let plain: Visit;
    before(async () => {
      scripted = await stage.visit("/");
      plain = await stage.visit("/", { javaScriptEnabled: false });
    });
    after(async () => {
      await leave(scripted);
      await leave(plain);
    });
    for (const address of FURTHER) {
      it(address, async () => {
        await openAt(scripted, stage.url + address);
        await assertEverywhere(scripted.page);
        await read(scripted, plain);
      });
    }
    for (const expected of PAGES) {
      // Where there are both, html is the same page.
      for (const format of expected.formats.includes("ui") ? ["ui"] : ["html"]) {
        it(`${expected.path} as ${format}`, async () => {
          const query = new URLSearchParams({ ...(await queryOf(expected)), format });
          const { page } = scripted;
          await openAt(scripted, `${stage.url}${expected.path}?${query}`);
          await assertEverywhere(page);
          const yes = page.locator("form[data-asks] button");
          if ((await yes.count()) > 0) {
            await yes.focus();
            await Promise.all([page.waitForEvent("load"), page.keyboard.press("Enter")]);
            await assertEverywhere(page);
          } else if (isReading(expected)) {
            seen.push(page.url());
            await read(scripted, plain);
          }
        });
      }
    }
  });

  describe("as a reader", () => {
    let scripted: Visit;
    let plain: Visit;
    before(async () => {
      await stage.world.app.access.keys.create({ name: "ada", role: "admin", expiresAt: "" });
      const { key } = await stage.world.app.access.keys.create({ name: "bo", role: "read", expiresAt: "" });
      const signIn = async (options: object): Promise<Visit> => {
        const visited = await stage.visit("/sign-in", options);
        if (!("javaScriptEnabled" in options)) await assertEverywhere(visited.page);
        await visited.page.getByLabel("API key").fill(key);
        await visited.page.keyboard.press("Enter");
        await visited.page.waitForURL(`${stage.url}/`);
        return visited;
      };
      scripted = await signIn({});
      plain = await signIn({ javaScriptEnabled: false });
    });
    after(async () => {
      await leave(scripted);
      await leave(plain);
    });

    it("finds every page readable, or is told where to go instead, and is led to none that refuses by where it begins", async () => {
      const { page } = scripted;
      const asked = new Map<string, number>();
      const statusOf = async (url: string): Promise<number> => {
        const status = asked.get(url) ?? (await page.request.get(url, { maxRedirects: 0 })).status();
        asked.set(url, status);
        return status;
      };
      const refused: string[] = [];
      const entrances = ["/", "/v2/search?format=ui&query=hotel+night"].map((path) => stage.url + path);
      const open = async (url: string): Promise<void> => {
        await openAt(scripted, url);
        await read(scripted, plain);
        // The others look as they do to an admin, with less on them.
        if (!seen.includes(url)) await assertEverywhere(page);
        const links = await page
          .locator("a[href]")
          .evaluateAll((all) => (all as HTMLAnchorElement[]).map(({ href }) => href));
        if (!entrances.includes(url)) return;
        // A page that says why it cannot be shown still has the link to its own content.
        const others = links.map((one) => one.replace(/#.*/, "")).filter((one) => one !== url.replace(/#.*/, ""));
        for (const link of others.filter((one) => one.startsWith(stage.url))) {
          const status = await statusOf(link);
          assert.ok(status < 400, `${url} leads to ${link}, which answers ${status}`);
        }
      };
      for (const url of [...entrances, ...seen]) {
        if ((await statusOf(url)) === 403) refused.push(url);
        else await open(url);
      }
      assert.ok(refused.length > 20, `${refused.length} pages are for operators`);
      await openAt(scripted, refused[0] ?? "");
      await assertEverywhere(page);
      assert.match(await page.locator("main").innerText(), /This page is for those who look after lockstep/);
    });
  });
});

/** A page that says what is wrong with the request is one, too. */
async function openAt(visited: Visit, url: string): Promise<void> {
  const answer = await visited.page.goto(url);
  if (answer && answer.status() >= 400) await expectRefusal({ ...visited, mayBeRefused: false });
}

async function read(scripted: Visit, plain: Visit): Promise<void> {
  await openAt(plain, scripted.page.url());
  await assertReadable(scripted.page, plain.page);
}

interface Operations {
  readonly get?: {
    readonly parameters: readonly { readonly name: string; readonly schema: { readonly enum: readonly string[] } }[];
  };
}
