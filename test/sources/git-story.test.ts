// A Git repository is crawled and found through its life, at the least cost.
import assert from "node:assert/strict";
import { mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { DEFAULT_LIMITS } from "../../src/contracts/domain.ts";
import { parseSourceId } from "../../src/contracts/ids.ts";
import type { GitSourceConfig } from "../../src/sources/git/git-source-codec.ts";
import { ofKind } from "../kinds.ts";
import { type GitServer, GitWorld, serveGit, WITHOUT_GIT } from "./git-world.ts";
import { SourceStory } from "./source-story.ts";

const VARIABLE = "LOCKSTEP_TEST_GIT_STORY";
const TOKEN = "story-t0ken";

/** One history, told from the first crawl on. */
describe("a repository through the whole product", { skip: WITHOUT_GIT }, () => {
  let world: GitWorld;
  let server: GitServer;
  let place: string;
  let story: SourceStory;
  let source: GitSourceConfig;

  before(async () => {
    world = await GitWorld.open();
    server = await serveGit(world.place, ({ headers }, response) => {
      if (headers.authorization === `Basic ${Buffer.from(`x-access-token:${TOKEN}`).toString("base64")}`) return false;
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
      return true;
    });
    place = await mkdtemp(join(tmpdir(), "lockstep-story-"));
    source = {
      ...ofKind("git_sources"),
      sourceId: parseSourceId("handbook"),
      limits: DEFAULT_LIMITS,
      repository: `${server.url}/handbook.git`,
      branch: "",
      credential: VARIABLE,
      include: ["docs/**"],
      exclude: [],
      hidden: false,
      maxFileBytes: 1024 * 1024,
    };
    story = await SourceStory.open({
      domain: "GIT",
      scope: "git",
      storage: place,
      source,
      settings: { [VARIABLE]: TOKEN },
    });
  });
  after(async () => {
    await story.close();
    await server.stop();
    await world.close();
    await rm(place, { recursive: true, force: true });
  });

  const address = (path: string): string => `${source.repository}#${path}`;

  test("a dry run before the first crawl says what there is, and writes nothing", async () => {
    await world.publish({
      "docs/otters.md": "# Otters\n\nOtters swim.",
      "docs/bees.md": "# Bees\n\nBees fly.",
      "code.md": "no",
    });
    const { source: planned, error, log } = await story.tryCrawl({ dryRun: true });
    assert.equal(error, "", log);
    assert.equal(planned?.download?.added, 2);
    const files = await readdir(place, { recursive: true });
    assert.deepEqual(
      files.filter((file) => file.includes("08_git") && file.includes("tree")),
      [],
    );
  });

  test("the first crawl makes its files found, with their addresses", async () => {
    const { source: result } = await story.crawl();
    assert.equal(result?.embed.added, 2);
    assert.deepEqual(await story.found("swim"), [address("docs/otters.md")]);
    assert.deepEqual(await story.found("no"), []);
  });

  test("a rename embeds nothing; a renamed and edited file is the same document", async () => {
    const long = Array.from({ length: 60 }, (_, i) => `Paragraph ${i} about badgers and their burrows.`).join("\n\n");
    await world.publish({ "docs/badgers.md": long });
    await story.crawl();
    await world.move("docs/otters.md", "docs/animals/otters.md");
    await world.push();
    const { source: renamed } = await story.crawl();
    assert.equal(renamed?.embed.added, 0);
    assert.equal(renamed?.embed.changed, 0, "a rename embeds nothing");
    assert.deepEqual(await story.found("swim"), [address("docs/animals/otters.md")]);
    await world.move("docs/badgers.md", "docs/animals/badgers.md");
    await world.publish({ "docs/animals/badgers.md": `${long}\n\nThey dig at night.` });
    const { source: edited } = await story.crawl();
    assert.deepEqual([edited?.embed.added, edited?.embed.removed], [0, 0]);
    assert.deepEqual(await story.found("They dig at night"), [address("docs/animals/badgers.md")]);
  });

  test("a dry run after a commit shows the plan, and leaves copy and index as they are", async () => {
    await world.remove("docs/bees.md");
    await world.publish({ "docs/ants.md": "# Ants\n\nAnts march." });
    const { source: planned } = await story.tryCrawl({ dryRun: true });
    assert.deepEqual([planned?.download?.added, planned?.download.removed], [1, 1]);
    assert.deepEqual(await story.found("fly"), [address("docs/bees.md")]);
    assert.deepEqual(await story.found("march"), []);
  });

  test("two crawls at once take turns, and what was deleted is not found", async () => {
    const [one, other] = await Promise.all([story.tryCrawl(), story.tryCrawl()]);
    assert.ok(one.error === "" || other.error === "", `${one.error} ${other.error}`);
    await story.crawl();
    assert.deepEqual(await story.found("fly"), []);
    assert.deepEqual(await story.found("march"), [address("docs/ants.md")]);
  });

  test("a repository that is gone, and a machine without git, remove nothing", async () => {
    await rename(world.bare, `${world.bare}.away`);
    const gone = await story.tryCrawl();
    assert.match(gone.log, /there is no such repository, or the token in LOCKSTEP_TEST_GIT_STORY may not read it/);
    await rename(`${world.bare}.away`, world.bare);
    const path = process.env["PATH"];
    process.env["PATH"] = join(place, "nothing");
    try {
      assert.match((await story.tryCrawl()).log, /There is no git on this machine/);
      const findings: string[] = [];
      for await (const { detail } of story.app.examineSource(source, new AbortController().signal))
        findings.push(detail);
      assert.match(findings.join("\n"), /There is no git on this machine/);
    } finally {
      process.env["PATH"] = path;
    }
    assert.deepEqual(await story.found("march"), [address("docs/ants.md")]);
    await story.crawl();
  });

  test("a repository that was emptied is held, not believed", async () => {
    await rename(world.bare, `${world.bare}.away`);
    await world.git("init", "--quiet", "--bare", "-b", "main", world.bare);
    await story.tryCrawl();
    assert.deepEqual(await story.found("march"), [address("docs/ants.md")]);
    await rm(world.bare, { recursive: true });
    await rename(`${world.bare}.away`, world.bare);
    await story.crawl();
  });

  test("the token is in no file", () =>
    story.assertNoSecrets([TOKEN, Buffer.from(TOKEN).toString("base64").slice(2, 12)]));
});
