// What a run that keeps to a stored plan leaves alone, beyond the items of a listing.
import assert from "node:assert/strict";
import { readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { parseDomain } from "../kinds.ts";
import { html, linksTo } from "../sources/web-visit-world.ts";
import { FolderStage } from "./folder-stage.ts";
import { WebStory } from "./web-story.ts";
import { DOMAIN, World } from "./world.ts";

const STORE = { storePlan: "plan_1" };
const APPLY = { approvedPlan: "plan_1" };
let stage: FolderStage;
beforeEach(async () => {
  stage = await FolderStage.open();
  for (const name of ["one", "two", "three", "four"]) await stage.write(`${name}.md`, `# ${name}\n\nThe ${name}word.`);
  await stage.crawl();
});
afterEach(() => stage.close());

test("nothing is purged: no plan has that", async () => {
  await stage.remove("one.md");
  for (let crawl = 0; crawl < 5; crawl++) {
    stage.later(1);
    await stage.write("clock.md", `The clock says ${stage.now.toISOString()}.`);
    await stage.crawl();
  }
  // Its grace is over, and no generation that shows it is kept any more.
  stage.later(25);
  await stage.tryCrawl(STORE, { dryRun: true });
  const { log } = await stage.crawl(APPLY);
  assert.doesNotMatch(log, /Purged/);
  assert.equal((await stage.document("one.md")).status, "missing");
  assert.match((await stage.crawl()).log, /Purged 1 document/);
});

test("a file that was altered since is found again by the next run", async () => {
  await stage.tryCrawl(STORE, { dryRun: true });
  const file = join(stage.folder, "02_embedded", "one.md");
  const { atime, mtime } = await stat(file);
  await writeFile(file, (await readFile(file, "utf8")).replace("oneword", "badword"));
  await utimes(file, atime, mtime);
  const { log } = await stage.crawl({ ...APPLY, checksum: true });
  assert.match(log, /left unchanged: 'one.md', download: altered on disk/);
  await stage.crawl();
  assert.match(await readFile(file, "utf8"), /oneword/);
});

test("a failed file that nobody planned to try again stays in 03_failed", async () => {
  await stage.write("bad.pdf", "this is no PDF");
  await stage.tryCrawl();
  assert.deepEqual(await stage.below("03_failed"), ["bad.pdf"]);
  await stage.write("five.md", "# five\n\nThe fiveword.");
  await stage.tryCrawl(STORE, { dryRun: true });
  await stage.tryCrawl({ ...APPLY, retryFailed: true });
  assert.deepEqual(await stage.found("fiveword"), ["five.md"]);
  assert.deepEqual(await stage.below("03_failed"), ["bad.pdf"]);
});

test("what was renamed, edited, removed or added since is done by the next crawl, texts included", async () => {
  await stage.tryCrawl(STORE, { dryRun: true });
  await stage.rename("one.md", "eins.md");
  await stage.replace("two.md", "# two\n\nThe zweiword.");
  await stage.remove("three.md");
  await stage.write("five.md", "# five\n\nThe fiveword.");
  await stage.crawl(APPLY);
  assert.deepEqual(await stage.below("02_embedded"), ["four.md", "one.md", "three.md", "two.md"]);
  await stage.crawl();
  for (const [word, path] of Object.entries({ oneword: "eins.md", zweiword: "two.md", fiveword: "five.md" })) {
    assert.deepEqual(await stage.found(word), [path]);
    const { docId } = await stage.document(path);
    assert.match((await stage.kept(docId))?.text ?? "", new RegExp(word));
  }
  assert.deepEqual(await stage.found("threeword"), []);
});

test("what lies in the mirror and is not planned is named and not embedded; so is another version than the planned one", async () => {
  await stage.write("five.md", "# five\n\nThe fiveword.");
  await stage.tryCrawl(STORE, { dryRun: true });
  await stage.replace("five.md", "# five\n\nThe otherword, which nobody has seen.");
  await stage.write("six.md", "# six\n\nThe sixword.");
  await stage.replace("two.md", "# two\n\nThe zweiword.");
  await stage.rename("one.md", "eins.md");
  await stage.remove("three.md");
  await stage.crawl({ steps: ["download"] });
  const { log, source } = await stage.crawl(APPLY);
  for (const name of ["five.md", "six.md", "two.md", "eins.md", "three.md"]) {
    const named = log.match(
      new RegExp(`Not in the approved plan, so it is left unchanged: '${name}', \\w+: [^\\n]+`, "g"),
    );
    assert.equal(named?.length, 1, `${name} ${log}`);
  }
  assert.match(log, /left unchanged: 'six.md', embed: new/);
  assert.equal(source.embed.added + source.embed.changed + source.embed.moved + source.embed.removed, 0);
  for (const word of ["otherword", "sixword", "zweiword"]) assert.deepEqual(await stage.found(word), [], word);
  assert.deepEqual(await stage.found("oneword"), ["one.md"]);
  assert.deepEqual(await stage.found("threeword"), ["three.md"]);
  await stage.crawl();
  for (const [word, path] of Object.entries({ otherword: "five.md", sixword: "six.md", zweiword: "two.md" }))
    assert.deepEqual(await stage.found(word), [path]);
  assert.deepEqual(await stage.found("oneword"), ["eins.md"]);
  assert.deepEqual(await stage.found("threeword"), []);
});

test("a page that waits and is not planned is named and not processed; a planned download is converted and embedded", async () => {
  const world = await World.open({ source: { filter: "none" } });
  try {
    const site_url = world.sandbox.siteUrl;
    const pages = {
      sitepage_sources: [{ source_id: "pages", site_url, sharepoint_url_part: "/SitePages", filter: "" }],
    };
    const domain = await world.app.domains.get(DOMAIN);
    await world.app.domains.update(parseDomain({ ...world.domainJson(), ...pages }, DOMAIN), domain);
    const write = async (name: string, text: string): Promise<void> => {
      const page = { path: `/sites/demo/SitePages/${name}.aspx`, title: name, published: true };
      await world.control("POST", "add-page", { ...page, text: `<p>${text}</p>` });
    };
    const found = async (word: string): Promise<boolean> => {
      return (await world.search(word)).some(({ text }) => text.includes(word));
    };
    await write("Home", "Welcome to the numbat portal.");
    await world.crawl();
    await write("News", "About the quoll.");
    await world.crawl({ ...STORE, steps: ["download"], dryRun: true });
    await write("Late", "About the bilby.");
    await world.crawl({ steps: ["download"] });
    const { log, job } = await world.crawl(APPLY);
    assert.equal(job.result?.error, "", log);
    assert.match(log, /left unchanged: '[^']*Late[^']*', process: waits to be processed/);
    assert.deepEqual([await found("quoll"), await found("bilby"), await found("numbat")], [true, false, true], log);
    await world.crawl();
    assert.ok(await found("bilby"));
  } finally {
    await world.close();
  }
});

test("pages whose server tells no dates are still as planned when they are read again", async () => {
  const story = await WebStory.open();
  try {
    const front = (...paths: string[]): string => html("About gnu", linksTo("/a", "/b", "/c", "/d", ...paths));
    story.site.set("/", front());
    for (const name of ["a", "b", "c", "d"]) story.site.set(`/${name}`, html(`About okapi${name}`));
    await story.crawl();
    story.site.set("/", front("/e"));
    story.site.set("/a", html("About tapir"));
    story.site.set("/e", html("About numbat"));
    await story.crawl({ ...STORE, dryRun: true });
    const { log } = await story.crawl(APPLY);
    assert.doesNotMatch(log, /left unchanged/);
    assert.equal((await story.found("tapir")).length, 1, log);
    assert.equal((await story.found("numbat")).length, 1, log);
  } finally {
    await story.close();
  }
});
