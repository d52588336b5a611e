// A plan is applied as far as everything is as planned, from the ledger or from a file, and a file cannot make it do anything else.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import { applyFileJob, applyJob, planFileJob } from "../../src/app/jobs.ts";
import { parseDomainId } from "../../src/contracts/ids.ts";
import type { JobRecord } from "../../src/contracts/job.ts";
import type { PlannedItem } from "../../src/contracts/plan.ts";
import { type CrawlRequest, type CrawlResult, crawlRequest } from "../../src/engine/crawl-request.ts";
import type { JobWork } from "../../src/jobs/job-runner.ts";
import { html, linksTo } from "../sources/web-visit-world.ts";
import { DOCS, FOLDERS, FolderStage } from "./folder-stage.ts";
import { WebStory } from "./web-story.ts";

const PLAN = "plan_1";
const LOOSE = { strict: false, dryRun: false };
const STRICT = { strict: true, dryRun: false };

let stage: FolderStage;
beforeEach(async () => {
  stage = await FolderStage.open();
  for (const name of ["one", "two", "three", "four"]) {
    await stage.write(`${name}.md`, `# ${name}\n\nAbout the ${name}word, ${"and more ".repeat(30)}`);
  }
  await stage.crawl();
});
afterEach(() => stage.close());

/** One of everything. */
async function change(): Promise<void> {
  await stage.write("deep/new.md", "# New\n\nAbout the quoll.");
  await stage.replace("two.md", "# Two\n\nAbout the wombat.");
  await stage.rename("three.md", "drei.md");
  await stage.remove("four.md");
}

async function storePlan(wishes: Partial<CrawlRequest> = {}): Promise<void> {
  await stage.tryCrawl({ storePlan: PLAN, ...wishes }, { dryRun: true });
}

interface Applied {
  readonly job: JobRecord;
  readonly log: string;
  readonly result: CrawlResult;
}

async function run({ start, work }: JobWork): Promise<Applied> {
  const job = await (await stage.app.runner.start({ ...start, endpoint: "test" }, work)).done;
  return { job, log: await stage.log(job), result: job.result?.data as CrawlResult };
}

const apply = async (options = LOOSE): Promise<Applied> => await run(await applyJob(stage.app, PLAN, options));
const applyFile = async (path: string, options = LOOSE): Promise<Applied> =>
  await run(await applyFileJob(stage.app, path, options));

/** What is on disk, and what search finds. */
async function outcome() {
  const words = ["oneword", "twoword", "threeword", "fourword", "quoll", "wombat"];
  return {
    files: await stage.below("02_embedded"),
    found: Object.fromEntries(await Promise.all(words.map(async (word) => [word, await stage.found(word)] as const))),
  };
}

const DONE = {
  files: ["deep/new.md", "drei.md", "one.md", "two.md"],
  found: {
    oneword: ["one.md"],
    twoword: [],
    threeword: ["drei.md"],
    fourword: [],
    quoll: ["deep/new.md"],
    wombat: ["two.md"],
  },
};

/** Stores no plan, whatever became of the one that was read. */
async function assertNothingStored(): Promise<void> {
  assert.deepEqual(await stage.app.plans.list(), []);
}

describe("a plan file", () => {
  let path: string;
  beforeEach(() => {
    path = join(stage.storage, "..", "my.plan.jsonl");
  });
  const planFile = async (wishes: Partial<CrawlRequest> = {}): Promise<Applied> => {
    return await run(await planFileJob(stage.app, crawlRequest(FOLDERS, { scope: "folders", ...wishes }), path));
  };
  const lines = async (): Promise<Record<string, unknown>[]> => {
    return (await readFile(path, "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  };
  /** Writes a plan that says whatever the test wants, with the hash that belongs to it. */
  const forge = async (...json: readonly object[]): Promise<void> => {
    const text = json.map((line) => `${JSON.stringify(line)}\n`).join("");
    const sha256 = createHash("sha256").update(text).digest("hex");
    await writeFile(path, `${text}${JSON.stringify({ end: true, items: json.length - 1, sha256 })}\n`);
  };

  test("gives what a crawl gives, and nothing is stored beside it, before or after", async () => {
    await change();
    const before = await outcome();
    const { job, log } = await planFile();
    assert.equal(job.result?.error, "", log);
    assert.equal(job.dryRun, true);
    assert.deepEqual(await outcome(), before, "a dry run changes nothing");
    await assertNothingStored();
    const applied = await applyFile(path);
    assert.equal(applied.job.result?.error, "", applied.log);
    assert.deepEqual(await outcome(), DONE);
    assert.deepEqual(applied.result.sources[0]?.kept_to_plan, {
      not_as_planned: [],
      not_as_planned_more: 0,
      done_before: 0,
    });
    await assertNothingStored();
    const again = await stage.crawl();
    assert.match(again.log, /Nothing changed since the last crawl/);
  });

  test("says the same of every item as the plan that it was made from", async () => {
    await change();
    await storePlan();
    const all = async (planId: string): Promise<PlannedItem[]> => {
      const key = { planId, domainId: FOLDERS, sourceType: "folder_sources", sourceId: DOCS };
      return await stage.withLedgers(async ({ plans }) => {
        const items: PlannedItem[] = [];
        for await (const page of (await plans.read(key))?.all() ?? []) items.push(...page);
        return items;
      });
    };
    const planned = await all(PLAN);
    assert.ok(planned.length >= 8, String(planned.length));
    const taken = await stage.app.plans.take(await stage.app.plans.file(PLAN), "copy");
    // Addresses stay at home, and what is listed as what it is does not decide anything.
    const plain = ({ sighting, ...item }: PlannedItem) => {
      const { url: _url, rawUrl: _raw, ...told } = sighting ?? {};
      return { ...item, told: item.told, sighting: sighting && told };
    };
    assert.deepEqual((await all(taken)).map(plain), planned.map(plain));
    const [a, b] = [await stage.app.plans.view(PLAN), await stage.app.plans.view(taken)];
    assert.deepEqual(b.totals, a.totals);
    assert.deepEqual(b.plan.sources, a.plan.sources);
    assert.deepEqual(b.plan.request, a.plan.request);
  });

  test("tells bytes, documents and tokens, which documents it is about, and that nothing is to be paid", async () => {
    await change();
    const { log } = await planFile();
    const all = await lines();
    const estimate = all.find((line) => "estimate" in line)?.["estimate"] as Record<string, unknown>;
    const fetched = ["deep/new.md", "two.md"];
    let bytes = 0;
    for (const name of fetched) bytes += (await readFile(stage.at(name))).length;
    assert.deepEqual(estimate, {
      bytes_to_fetch: bytes,
      documents_to_embed: 2,
      tokens_to_embed: estimate["tokens_to_embed"],
      documents_of_unknown_size: 0,
      dollars: null,
      dollars_every: "",
      money: "none: documents are embedded on this machine",
    });
    assert.ok(Math.abs(Number(estimate["tokens_to_embed"]) - bytes / 4) <= 2);
    assert.match(log, /Plan: download 4, embed 4; \d+ bytes to fetch; 2 documents to embed, about \d+ tokens/);
  });

  test("is not written over another file, nor into a folder that is not there", async () => {
    await writeFile(path, "precious");
    await assert.rejects(planFile(), /my\.plan\.jsonl' exists\. Name another file, or delete it\./);
    assert.equal(await readFile(path, "utf8"), "precious");
    path = "";
    await assert.rejects(planFile(), /Name the file that is to hold the plan/);
    path = join(stage.storage, "nowhere", "plan");
    await assert.rejects(planFile(), /there is no folder/);
    assert.deepEqual(await readdir(join(stage.storage, "jobs", "crawler")).then((names) => names.length), 1);
  });

  test("damaged, cut off, empty, of a newer format, or no plan: a sentence, and nothing happens", async () => {
    await change();
    await planFile();
    const text = await readFile(path, "utf8");
    const all = text.trimEnd().split("\n");
    const before = await outcome();
    const head = JSON.parse(all[0] ?? "") as object;
    const cases: readonly (readonly [name: string, text: string | Uint8Array, error: RegExp])[] = [
      ["empty", "", /is empty\./],
      ["cut off between lines", `${all.slice(0, -1).join("\n")}\n`, /is cut off after line \d+\. Copy it again/],
      ["cut off in a line", text.slice(0, -20), /line \d+: it is no JSON object/],
      ["a line is missing", `${all.toSpliced(2, 1).join("\n")}\n`, /the file was altered since it was written/],
      ["a byte is another", text.replace('"change":"removed"', '"change":"changed"'), /altered since it was written/],
      ["something is appended", `${text}{}\n`, /something comes after the end/],
      [
        "newer",
        text.replace('"version":1', '"version":2'),
        /newer release \(format 2, this one knows 1\); update lockstep/,
      ],
      ["JSON that is no plan", '{"a":1}\n', /line 1: it is not the first line of a plan/],
      ["a picture", new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0]), /line 1: it is no JSON object/],
      ["one endless line", "x".repeat(3_000_000), /longer than any line of a plan/],
      [
        "no domain of ours",
        text.replace('"domain_id":"FOLDERS"', '"domain_id":"OTHER"'),
        /is for domain 'OTHER', which does not exist here/,
      ],
      [
        "a domain outside",
        text.replace('"domain_id":"FOLDERS"', '"domain_id":"../../etc"'),
        /'domain_id' must be 1 to 64 letters/,
      ],
      [
        "a source outside",
        text.replaceAll('"source_id":"docs"', '"source_id":"../docs"'),
        /'source_id' must be 1 to 64 letters/,
      ],
      [
        "an item of another source",
        text.replace('"source_id":"docs","step"', '"source_id":"other","step"'),
        /does not name the source 'other'/,
      ],
      [
        "a mode of its own",
        text.replace('"mode":"incremental"', '"mode":"wipe"'),
        /'mode' must be one of full, incremental/,
      ],
    ];
    for (const [name, content, error] of cases) {
      await writeFile(path, content);
      await assert.rejects(applyFileJob(stage.app, path, LOOSE), error, name);
    }
    const wrong: readonly (readonly [object, RegExp])[] = [
      [{ change: "explode" }, /'change' must be one of added/],
      [{ change: "removed", item_id: "" }, /'item_id' is empty/],
      [{ change: "removed", item_id: 7 }, /'item_id' must be text/],
      [{ change: "added", bytes: -1 }, /'bytes' must be a number, 0 or more/],
      [{ change: "added", listed: "x" }, /'listed' must be an object/],
    ];
    for (const [fields, error] of wrong) {
      const item = { source_type: "folder_sources", source_id: "docs", step: "download", item_id: "x", reason: "" };
      await forge(head, { ...item, ...fields });
      await assert.rejects(applyFileJob(stage.app, path, LOOSE), error);
    }
    await assertNothingStored();
    assert.deepEqual(await outcome(), before);
  });

  test("from a stranger approves items and says nothing of where: what it names outside is not touched", async () => {
    const canaries = [join(stage.storage, "..", "canary.txt"), join(stage.storage, "canary.txt")];
    for (const canary of canaries) await writeFile(canary, "alive");
    await planFile();
    const [head = {}] = await lines();
    const { docId } = await stage.document("one.md");
    const of = { source_type: "folder_sources", source_id: "docs", reason: "x" };
    const outside = ["../../../../canary.txt", canaries[0] ?? "", "..\\..\\canary.txt", "02_embedded/../../x\u0000"];
    const listed = { size: 5, modified_utc: "", etag: "", content_version: "" };
    await forge(
      head,
      ...outside.flatMap((place, at) => [
        { ...of, step: "download", change: "removed", item_id: `../${place}`, strayed_to: place },
        { ...of, step: "download", change: "removed", item_id: at === 0 ? docId : `doc_${at}`, strayed_to: place },
        {
          ...of,
          step: "download",
          change: "moved",
          item_id: docId,
          listed: { ...listed, name: place, path: place, server_path: place },
        },
        {
          ...of,
          step: "download",
          change: "added",
          item_id: `new${at}`,
          shown: { name: place, path: place, reason: "" },
          listed: { ...listed, name: place, path: place, server_path: place },
        },
        {
          ...of,
          step: "embed",
          change: "removed",
          item_id: docId,
          shown: { name: "\u001b[2J", path: place, reason: "\nERROR: forged" },
        },
        { ...of, step: "process", change: "changed", item_id: docId },
      ]),
    );
    const before = await outcome();
    const around = await readdir(join(stage.storage, ".."));
    const { job, log } = await applyFile(path);
    assert.equal(job.result?.error, "", log);
    assert.deepEqual(await outcome(), before, "what the source has stays, whoever approves its removal");
    assert.deepEqual(await readdir(join(stage.storage, "..")), around);
    for (const canary of canaries) assert.equal(await readFile(canary, "utf8"), "alive");
    assert.doesNotMatch(log, /^ERROR/m);
    assert.ok(!log.includes("\u001b"));
    await assertNothingStored();
  });

  test("approves no more than what the source itself says: other content under an approved name stays away", async () => {
    await planFile();
    const [head = {}] = await lines();
    await stage.write("late.md", "# Late\n\nAbout the quoll.");
    const of = { source_type: "folder_sources", source_id: "docs", reason: "x", step: "download", change: "added" };
    const name = { name: "late.md", path: "late.md" };
    const listed = { ...name, server_path: "/late.md", size: 1, modified_utc: "", etag: "", content_version: "" };
    await forge(head, { ...of, item_id: "doc_x", shown: { ...name, reason: "" }, listed });
    const { log } = await applyFile(path);
    assert.match(log, /left unchanged: 'late\.md', download: new at the source/);
    assert.deepEqual(await stage.found("quoll"), []);
  });

  test("for a domain that was renamed since: a sentence; a stored plan goes with its domain", async () => {
    await change();
    await planFile();
    await storePlan();
    const to = parseDomainId("RENAMED");
    const domain = await stage.app.domains.get(FOLDERS);
    const { start, work } = {
      start: { router: "test", action: "rename", object: "", dryRun: false },
      work: stage.app.renameDomain,
    };
    const texts = { name: domain.name, description: domain.description };
    await (
      await stage.app.runner.start({ ...start, endpoint: "test" }, async (job) => {
        await work({ from: FOLDERS, to, ...texts }, job);
        return { ok: true, error: "", data: {} };
      })
    ).done;
    await assert.rejects(
      applyFileJob(stage.app, path, LOOSE),
      /is for domain 'FOLDERS', which does not exist here \(any more\)/,
    );
    const { job, result } = await apply();
    assert.equal(job.result?.error, "");
    assert.deepEqual([job.object, result.domain_id], ["RENAMED", "RENAMED"]);
    const { added, changed, moved, removed } = result.sources[0]?.download ?? assert.fail();
    assert.deepEqual([added, changed, moved, removed], [1, 1, 1, 1]);
  });
});

describe("what moved since the plan was made", () => {
  test("is named and left alone, and counted in the result", async () => {
    await change();
    await storePlan();
    await stage.replace("two.md", "# Two\n\nAbout the dunnart.");
    await stage.write("four.md", "# Four\n\nIs back, about the fourword.");
    await stage.write("late.md", "# Late\n\nAbout the bilby.");
    const { job, log, result } = await apply();
    assert.equal(job.result?.error, "", log);
    const kept = result.sources[0]?.kept_to_plan ?? assert.fail();
    assert.deepEqual(kept.not_as_planned.map(({ path }) => path).sort(), ["four.md", "late.md", "two.md"]);
    assert.equal(kept.not_as_planned_more, 0);
    assert.deepEqual(await stage.found("quoll"), ["deep/new.md"]);
    assert.deepEqual(await stage.found("threeword"), ["drei.md"]);
    for (const word of ["dunnart", "bilby"]) assert.deepEqual(await stage.found(word), [], word);
  });

  test("makes a strict one do nothing at all; if nothing moved, it does everything", async () => {
    await change();
    await storePlan();
    await stage.write("late.md", "# Late\n\nAbout the bilby.");
    const before = await outcome();
    const refused = await apply(STRICT);
    assert.equal(refused.job.result?.ok, false);
    assert.match(
      refused.job.result?.error ?? "",
      /^1 change is not as planned .* so nothing was done, as strict asks for/,
    );
    assert.match(refused.log, /Not as planned in 'docs', download: 'late\.md': new at the source\./);
    assert.deepEqual(await outcome(), before);
    await stage.remove("late.md");
    const applied = await apply(STRICT);
    assert.equal(applied.job.result?.error, "", applied.log);
    assert.deepEqual(await outcome(), DONE);
  });

  test("in one source makes a strict one leave the others alone, too", async () => {
    const second = `${stage.root}-second`;
    await mkdir(second);
    const domain = await stage.app.domains.get(FOLDERS);
    const other = { ...stage.config, sourceId: "zz" as typeof DOCS, root: second };
    await stage.app.domains.update({ ...domain, sources: [stage.config, other] }, domain);
    await change();
    await storePlan();
    await writeFile(join(second, "late.md"), "About the bilby.");
    const before = await outcome();
    const { job, log } = await apply(STRICT);
    assert.match(job.result?.error ?? "", /nothing was done, as strict asks for/);
    assert.match(log, /Not as planned in 'zz', download: 'late\.md'/);
    assert.deepEqual(await outcome(), before);
  });

  test("applied twice, or once more after a kill, also strictly: what was done is done, and no doubt is cast on it", async () => {
    await change();
    await storePlan();
    await apply();
    for (const options of [LOOSE, STRICT]) {
      const { job, log, result } = await apply(options);
      assert.equal(job.result?.error, "", log);
      assert.deepEqual(result.sources[0]?.kept_to_plan, { not_as_planned: [], not_as_planned_more: 0, done_before: 4 });
      assert.deepEqual(await outcome(), DONE);
    }
  });

  test("a plan of the embedding alone, done by a crawl meanwhile, has nothing left to do", async () => {
    await change();
    await stage.crawl({ steps: ["download", "process"] });
    await storePlan({ steps: ["embed"] });
    await stage.crawl();
    const { job, log, result } = await apply(STRICT);
    assert.equal(job.result?.error, "", log);
    assert.equal(result.sources[0]?.kept_to_plan?.done_before, 4);
  });

  test("a dry run of it tells the same, and changes nothing", async () => {
    await change();
    await storePlan();
    await stage.write("late.md", "# Late\n\nAbout the bilby.");
    const before = await outcome();
    const { job, log, result } = await apply({ strict: true, dryRun: true });
    assert.equal(job.result?.error, "", log);
    assert.deepEqual(
      result.sources[0]?.kept_to_plan?.not_as_planned.map(({ path }) => path),
      ["late.md"],
    );
    const { added, changed, moved, removed } = result.sources[0]?.download ?? assert.fail();
    assert.deepEqual([added, changed, moved, removed], [1, 1, 1, 1]);
    assert.deepEqual(await outcome(), before);
  });
});

describe("sources of a plan", () => {
  test("one that was edited since is left alone, and named; strictly nothing is done", async () => {
    await change();
    await storePlan();
    const domain = await stage.app.domains.get(FOLDERS);
    await stage.app.domains.update(
      { ...domain, sources: [{ ...stage.config, exclude: ["one.md"] } as typeof stage.config] },
      domain,
    );
    const before = await outcome();
    for (const options of [STRICT, LOOSE]) {
      const { job } = await apply(options);
      assert.match(
        job.result?.error ?? "",
        /The settings of source 'docs', or what is accepted of it, changed since the plan/,
      );
      assert.deepEqual(await outcome(), before);
    }
  });

  test("one that left the domain since is not removed by a plan that has it, nor one that came since crawled", async () => {
    await change();
    await storePlan();
    const domain = await stage.app.domains.get(FOLDERS);
    const other = { ...stage.config, sourceId: "other" as typeof DOCS };
    await stage.app.domains.update({ ...domain, sources: [other] }, domain);
    const before = await outcome();
    const { job, log } = await apply();
    assert.match(job.result?.error ?? "", /Source 'docs' is not in the domain any more, so nothing of it was done/);
    assert.match(log, /Source 'other' is not in the plan, so it is left alone\./);
    assert.deepEqual(await outcome(), before);
  });

  test("one that is taken out says so of every item, and is gone when it is applied", async () => {
    const domain = await stage.app.domains.get(FOLDERS);
    await stage.app.domains.update({ ...domain, sources: [] }, domain);
    await storePlan({ confirmDeletes: true });
    for (const step of ["download", "embed"] as const) {
      const { rows, total } = await stage.app.plans.items(PLAN, { step }, { limit: 10, offset: 0 });
      assert.equal(total, 4);
      for (const { change, reason } of rows) {
        assert.deepEqual([change, reason], ["removed", "its source was taken out of the domain"]);
      }
    }
    for (const _ of [1, 2]) assert.equal((await apply()).job.result?.error, "");
    assert.deepEqual(await stage.below("02_embedded"), []);
  });
});

test("an unknown plan, and one whose dry run goes on, are sentences; so is a swap", async () => {
  await assert.rejects(applyJob(stage.app, "plan_9", LOOSE), /There is no plan 'plan_9'\. A dry run stores one/);
  await stage.withLedgers(async ({ plans }) => {
    await plans.begin({ planId: "plan_8", domainId: FOLDERS, request: {} });
  });
  await assert.rejects(applyJob(stage.app, "plan_8", LOOSE), /'plan_8' of domain 'FOLDERS' is incomplete/);
  const swap = crawlRequest(FOLDERS, { swap: true, mode: "full", storePlan: PLAN });
  await assert.rejects(stage.app.checkCrawl(swap), /A swap has no plan that could be applied later/);
});

test("maintenance removes plans after 30 days, also incomplete ones, and a dry run of it only says so", async () => {
  await change();
  await storePlan();
  await stage.withLedgers(({ plans }) => plans.begin({ planId: "plan_8", domainId: FOLDERS, request: {} }));
  const kinds = ({ result }: Awaited<ReturnType<FolderStage["maintain"]>>) =>
    result.things.filter(({ kind }) => kind === "plans").map(({ what }) => what);
  stage.later(24 * 29);
  assert.deepEqual(kinds(await stage.maintain()), []);
  stage.later(24 * 2);
  assert.deepEqual(kinds(await stage.maintain({}, { dryRun: true })).sort(), [PLAN, "plan_8"]);
  assert.equal((await stage.app.plans.list()).length, 2);
  assert.deepEqual(kinds(await stage.maintain()).sort(), [PLAN, "plan_8"]);
  await assertNothingStored();
});

test("a web site's plan covers the addresses known or found then, and says so; a later page waits for the next crawl", async () => {
  const story = await WebStory.open();
  try {
    story.site.set("/", html("About gnu", linksTo("/a")));
    story.site.set("/a", html("About okapi"));
    await story.crawl();
    story.site.set("/a", html("About tapir", linksTo("/new")));
    story.site.set("/new", html("About numbat"));
    await story.crawl({ storePlan: PLAN, dryRun: true });
    const { notes } = await story.app.plans.view(PLAN);
    assert.match(
      notes.join(),
      /Source 'site': the plan covers addresses that were known or found when the plan was made\./,
    );
    const text = await new Response(ReadableStream.from(await story.app.plans.file(PLAN))).text();
    assert.match(text.split("\n")[0] ?? "", /"covers":"addresses that were known or found when the plan was made"/);
    story.site.set("/new", html("About numbat", linksTo("/later")));
    story.site.set("/later", html("About quokka"));
    const { log } = await story.crawl({ approvedPlan: PLAN });
    assert.match(log, /left unchanged: '[^']*later[^']*'/);
    assert.equal((await story.found("tapir")).length, 1, log);
    assert.equal((await story.found("quokka")).length, 0, log);
    await story.crawl();
    assert.equal((await story.found("quokka")).length, 1);
  } finally {
    await story.close();
  }
});
