// A stored plan, carried out later and by another process, does what the run would have done, and nothing else.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { CrawlRequest } from "../../src/engine/crawl-request.ts";
import { parseDomain } from "../kinds.ts";
import type { ChildTask } from "./folder-child.ts";
import { FOLDERS, FolderStage } from "./folder-stage.ts";
import { DOMAIN, World } from "./world.ts";

const STORE = { storePlan: "plan_1" };
const APPLY = { approvedPlan: "plan_1" };

async function filled(): Promise<FolderStage> {
  const stage = await FolderStage.open();
  for (const name of ["one", "two", "three", "four", "five", "six"]) {
    await stage.write(`${name}.md`, `# ${name}\n\nAbout the ${name} of them, ${"word ".repeat(40)}`);
  }
  await stage.write("deep/below.md", "# Below\n\nAbout the numbat.");
  await stage.crawl();
  return stage;
}

/** Added, edited, renamed, a folder renamed, deleted. */
async function change(stage: FolderStage): Promise<void> {
  await stage.write("new.md", "# New\n\nAbout the quoll.");
  await stage.replace("two.md", "# Two\n\nAbout the wombat.");
  await stage.rename("three.md", "drei.md");
  await stage.rename("deep", "deeper");
  await stage.remove("four.md");
}

/** Returns its log, as far as it came. */
async function inAnotherProcess(
  stage: FolderStage,
  wishes: Partial<CrawlRequest>,
  options: Pick<ChildTask, "dryRun" | "dieBefore"> = {},
): Promise<string> {
  const task: ChildTask = { settings: stage.settings, nowMs: stage.now.getTime(), verb: "crawl", wishes, ...options };
  const child = join(import.meta.dirname, "folder-child.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [child, JSON.stringify(task)]).catch((error) => {
    assert.ok(options.dieBefore !== undefined && error.signal === "SIGKILL", String(error));
    return error;
  });
  return stdout;
}

/** What is on disk, in the ledger and in search. */
async function outcome(stage: FolderStage) {
  return {
    files: await stage.below("02_embedded"),
    manifest: (await stage.manifest()).map(({ path, status }) => `${path} ${status}`),
    index: (await stage.holdings()).map(({ path, sha256 }) => `${path} ${sha256}`).sort(),
    found: await Promise.all(["quoll", "wombat", "numbat", "four"].map((word) => stage.found(word))),
  };
}

test("a folder: applied by another process, it gives what a crawl gives", async () => {
  const [direct, planned] = [await filled(), await filled()];
  try {
    for (const stage of [direct, planned]) await change(stage);
    const { source } = await direct.crawl();
    const before = await outcome(planned);
    const dry = await planned.tryCrawl(STORE, { dryRun: true });
    assert.deepEqual(await outcome(planned), before, "a dry run changes nothing");
    assert.deepEqual(dry.source.download, source.download);
    const log = await inAnotherProcess(planned, APPLY);
    assert.doesNotMatch(log, /left unchanged|no longer needed/);
    assert.deepEqual(await outcome(planned), await outcome(direct));
    const again = await planned.crawl();
    assert.equal(again.source.download.unchanged, 7, again.log);
    assert.match(again.log, /Nothing changed since the last crawl/);
  } finally {
    await direct.close();
    await planned.close();
  }
});

test("a plan of the download only, applied with all steps, leaves nothing of what it removed or moved in search", async () => {
  const [direct, planned] = [await filled(), await filled()];
  try {
    for (const stage of [direct, planned]) await change(stage);
    await direct.crawl();
    await planned.tryCrawl({ ...STORE, steps: ["download"] }, { dryRun: true });
    const { log } = await planned.crawl(APPLY);
    assert.doesNotMatch(log, /left unchanged/);
    assert.deepEqual(await outcome(planned), await outcome(direct));
  } finally {
    await direct.close();
    await planned.close();
  }
});

test("killed after the download, the same plan applied once more comes to the same end", async () => {
  const [direct, planned] = [await filled(), await filled()];
  try {
    for (const stage of [direct, planned]) await change(stage);
    await direct.crawl();
    await planned.tryCrawl(STORE, { dryRun: true });
    await inAnotherProcess(planned, APPLY, { dieBefore: "Index:" });
    assert.deepEqual(await planned.found("quoll"), [], "it was killed before the commit");
    const { log } = await planned.crawl(APPLY);
    assert.doesNotMatch(log, /left unchanged/);
    assert.deepEqual(await outcome(planned), await outcome(direct));
  } finally {
    await direct.close();
    await planned.close();
  }
});

test("what moved since is named and left alone, and done by the next crawl", async () => {
  const stage = await filled();
  try {
    await change(stage);
    await stage.tryCrawl(STORE, { dryRun: true });
    await stage.write("late.md", "# Late\n\nAbout the bilby.");
    await stage.replace("five.md", "# Five\n\nAbout the potoroo.");
    await stage.replace("two.md", "# Two\n\nAbout the dunnart.");
    await stage.remove("six.md");
    await stage.rename("drei.md", "three.md");
    await stage.write("four.md", `# four\n\nAbout the four of them, ${"word ".repeat(40)}`);
    const log = await inAnotherProcess(stage, APPLY);
    for (const name of ["late.md", "five.md", "two.md", "six.md", "four.md"]) {
      assert.match(log, new RegExp(`Not in the approved plan, so it is left unchanged: '${name}'`));
    }
    assert.match(log, /Planned, but no longer needed: 'drei.md'/);
    assert.deepEqual(await stage.found("quoll"), ["new.md"], "what is still as planned is done");
    assert.deepEqual(await stage.found("numbat"), ["deeper/below.md"]);
    for (const word of ["bilby", "potoroo", "dunnart"]) assert.deepEqual(await stage.found(word), [], word);
    assert.deepEqual(await stage.found("six"), ["six.md"], "a removal that nobody approved");
    await stage.crawl();
    const words = { bilby: "late.md", potoroo: "five.md", dunnart: "two.md", four: "four.md" };
    for (const [word, path] of Object.entries(words)) assert.deepEqual(await stage.found(word), [path], word);
    assert.deepEqual(await stage.found("six"), []);
  } finally {
    await stage.close();
  }
});

test("a plan that does not exist is a sentence, and nothing is done", async () => {
  const stage = await filled();
  try {
    await stage.remove("four.md");
    const { job } = await stage.tryCrawl({ approvedPlan: "plan_9" });
    assert.match(job.result?.error ?? "", /There is no plan 'plan_9'\. A dry run stores one/);
    assert.deepEqual(await stage.found("four"), ["four.md"]);
  } finally {
    await stage.close();
  }
});

test("a plan whose dry run was killed is refused with a sentence, and nothing is done; a new one takes its place", async () => {
  const stage = await filled();
  try {
    await change(stage);
    await inAnotherProcess(stage, STORE, { dryRun: true, dieBefore: "  INDEX" });
    const before = await outcome(stage);
    const { job } = await stage.tryCrawl(APPLY);
    assert.match(
      job.result?.error ?? "",
      /Plan 'plan_1' of domain 'FOLDERS' is incomplete: its dry run is running, or did not finish/,
    );
    assert.deepEqual(await outcome(stage), before);
    await stage.tryCrawl(STORE, { dryRun: true });
    await stage.crawl(APPLY);
    assert.deepEqual(await stage.found("quoll"), ["new.md"]);
  } finally {
    await stage.close();
  }
});

test("a plan that only has what a source leaves that was taken out of the domain", async () => {
  const stage = await filled();
  try {
    const domain = await stage.app.domains.get(FOLDERS);
    await stage.app.domains.update({ ...domain, sources: [] }, domain);
    const wishes = { confirmDeletes: true };
    await stage.tryCrawl({ ...STORE, ...wishes }, { dryRun: true });
    assert.deepEqual(await stage.found("numbat"), ["deep/below.md"]);
    await stage.crawl({ ...APPLY, ...wishes });
    assert.deepEqual(await stage.found("numbat"), []);
    assert.deepEqual(await stage.below("02_embedded"), []);
  } finally {
    await stage.close();
  }
});

test("a library, a list and pages: stored, and applied after a restart", async () => {
  const world = await World.open();
  const list = "/sites/demo/Lists/Tasks";
  try {
    const site_url = world.sandbox.siteUrl;
    await world.control("POST", "add-list", { path: list, title: "Tasks", columns: [] });
    for (const title of ["Feed the wombat", "Paint the shed"]) {
      await world.control("POST", "add-item", { list, values: { Title: title } });
    }
    const page = { path: "/sites/demo/SitePages/Home.aspx", title: "Home", published: true };
    await world.control("POST", "add-page", { ...page, text: "<p>Welcome to the numbat portal.</p>" });
    for (const name of ["a", "b", "c"]) await world.change("add", { path: `${name}.txt`, text: `About ${name}anana.` });
    const domain = await world.app.domains.get(DOMAIN);
    const kinds = {
      list_sources: [{ source_id: "tasks", site_url, list_name: "Tasks", filter: "" }],
      sitepage_sources: [{ source_id: "pages", site_url, sharepoint_url_part: "/SitePages", filter: "" }],
    };
    await world.app.domains.update(parseDomain({ ...world.domainJson(), ...kinds }, DOMAIN), domain);
    await world.crawl();
    await world.change("add", { path: "d.txt", text: "About the quoll." });
    await world.change("rename", { path: "a.txt", name: "z.txt" });
    await world.change("delete", { path: "b.txt" });
    await world.control("POST", "add-item", { list, values: { Title: "Sharpen the pencils" } });
    const dry = await world.crawl({ ...STORE, dryRun: true });
    await world.change("add", { path: "late.txt", text: "About the bilby." });
    await world.reopen();
    const applied = await world.crawl(APPLY);
    assert.equal(applied.job.result?.error, "", applied.log);
    assert.match(applied.log, /Not in the approved plan, so it is left unchanged: 'late.txt'/);
    for (const [at, { download }] of dry.result.sources.entries()) {
      const { skipped: _skipped, ...done } = applied.result.sources[at]?.download ?? assert.fail();
      const { skipped: _left, ...planned } = download;
      assert.deepEqual(done, planned);
    }
    const names = async (text: string) => (await world.search(text)).map(({ text: said }) => said).join();
    assert.match(await names("quoll"), /About the quoll/);
    assert.match(await names("pencils"), /Sharpen the pencils/);
    assert.doesNotMatch(await names("banana"), /About banana/);
    assert.doesNotMatch(await names("bilby"), /bilby/);
    await world.crawl();
    assert.match(await names("bilby"), /bilby/);
  } finally {
    await world.close();
  }
});
