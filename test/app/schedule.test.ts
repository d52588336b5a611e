// Scheduled crawls start once each, across servers, restarts and clock changes.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, test } from "node:test";
import { busyWith } from "../../src/app/busy-with.ts";
import { createSchedule } from "../../src/app/schedule.ts";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import type { DomainId, JobId } from "../../src/contracts/ids.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import { beginRename, endRename } from "../../src/domains/domain-rename.ts";
import { createDomainStore, type DomainStore } from "../../src/domains/domain-store.ts";
import { createJobRunner } from "../../src/jobs/job-runner.ts";
import { createJobStore } from "../../src/jobs/job-store.ts";
import { findCronProblem } from "../../src/lib/cron.ts";
import { createAuditLog } from "../../src/security/audit-log.ts";
import { parseDomainInput } from "../kinds.ts";
import { openTestLedgers } from "../ledger/open-test-ledgers.ts";

/** A storage folder, servers that share it, and a clock that goes when the test says so. */
class Clockwork {
  readonly folder: string;
  readonly domains: DomainStore;
  readonly ledgers: Ledgers;
  readonly started: string[] = [];
  readonly logged: string[] = [];
  now: Date;
  readonly cutOff = new Set<string>();
  /** Before each start; may throw. */
  beforeStart: (id: DomainId) => void = () => undefined;

  constructor(folder: string, now: string) {
    this.folder = folder;
    this.now = new Date(now);
    const crawlerFolder = join(folder, "crawler");
    this.domains = createDomainStore({ domainsFolder: this.domainsFolder, crawlerFolder, kinds: BUILT_IN_KINDS });
    this.ledgers = openTestLedgers(crawlerFolder);
  }

  get domainsFolder(): string {
    return join(this.folder, "domains");
  }

  get audit(): ReturnType<typeof createAuditLog> {
    return createAuditLog(join(this.folder, "audit"));
  }

  /** What a server does every few seconds. */
  server(): () => Promise<void> {
    let look: (() => Promise<void>) | undefined;
    const schedule = createSchedule({
      domains: this.domains,
      busyWith: busyWith(createJobStore(join(this.folder, "jobs"))),
      folder: this.domainsFolder,
      states: this.ledgers.schedules,
      audit: this.audit,
      wasCutOff: async (jobId) => this.cutOff.has(jobId),
      start: async (id) => {
        this.beforeStart(id);
        this.started.push(`${id} ${this.now.toISOString().slice(0, 16)}`);
        return `jb_${this.started.length}` as JobId;
      },
      clock: {
        now: () => this.now,
        often(work) {
          look = work;
          return () => undefined;
        },
      },
    });
    schedule.start((line) => this.logged.push(line));
    return look ?? assert.fail("it does not look");
  }

  async add(id: string, schedule: string): Promise<void> {
    await this.domains.create(parseDomainInput({ domain_id: id, name: id, schedule }));
  }

  async change(id: string, schedule: string): Promise<void> {
    const before = await this.domains.get(id as DomainId);
    await this.domains.update({ ...before, schedule }, before);
  }
}

describe("a schedule", () => {
  let work: Clockwork;
  let server: () => Promise<void>;
  const works: Clockwork[] = [];
  beforeEach(async () => {
    const folder = await mkdtemp(join(tmpdir(), "lockstep-schedule-"));
    work = new Clockwork(folder, "2026-01-15T10:00:30Z");
    works.push(work);
    server = work.server();
  });
  after(async () => {
    for (const { ledgers, folder } of works) {
      await ledgers.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  const at = async (time: string, look = server): Promise<void> => {
    work.now = new Date(time);
    await look();
  };

  test("a crawl that was cut off is started again, but not for ever", async () => {
    await work.add("A", "0 2 * * *");
    await server();
    work.now = new Date("2026-01-16T02:00:10Z");
    await server();
    assert.equal(work.started.length, 1);
    await server();
    assert.equal(work.started.length, 1, "it runs, or has ended well");
    for (const jobId of ["jb_1", "jb_2", "jb_3"]) {
      work.cutOff.add(jobId);
      await work.server()();
    }
    assert.equal(work.started.length, 3);
    work.now = new Date("2026-01-17T02:00:10Z");
    await server();
    assert.equal(work.started.length, 4, "its next time");
  });

  test("starts a crawl when its time comes, once, and again the next time", async () => {
    await work.add("DEMO", "0 12 * * *");
    await server();
    await at("2026-01-15T11:59:59Z");
    assert.deepEqual(work.started, []);
    await at("2026-01-15T12:00:07Z");
    await at("2026-01-15T12:00:22Z");
    await at("2026-01-15T23:00:00Z");
    assert.deepEqual(work.started, ["DEMO 2026-01-15T12:00"]);
    await at("2026-01-16T12:00:00Z");
    assert.deepEqual(work.started.length, 2);
  });

  test("of several servers on one storage one starts it", async () => {
    await work.add("DEMO", "*/10 * * * *");
    await server();
    const others = [work.server(), work.server(), work.server()];
    work.now = new Date("2026-01-15T10:10:00Z");
    await Promise.all([server, ...others].map((look) => look()));
    assert.deepEqual(work.started, ["DEMO 2026-01-15T10:10"]);
  });

  test("times that passed while no server ran are made up for once", async () => {
    await work.add("DEMO", "0 * * * *");
    await server();
    const restarted = work.server();
    await at("2026-01-18T07:30:00Z", restarted);
    await at("2026-01-18T07:45:00Z", restarted);
    assert.deepEqual(work.started, ["DEMO 2026-01-18T07:30"]);
  });

  test("a schedule that is new owes nothing, and a changed one takes effect at the next look", async () => {
    await work.add("DEMO", "0 9 * * *");
    await server();
    await at("2026-01-15T11:00:00Z");
    await work.change("DEMO", "30 10 * * *");
    await at("2026-01-15T11:00:15Z");
    assert.deepEqual(work.started, [], "10:30 was before it was wanted");
    await work.change("DEMO", "5 11 * * *");
    await at("2026-01-15T11:00:30Z");
    await at("2026-01-15T11:05:00Z");
    assert.deepEqual(work.started, ["DEMO 2026-01-15T11:05"]);
    await work.change("DEMO", "");
    await at("2026-01-17T11:05:00Z");
    await work.change("DEMO", "5 11 * * *");
    await at("2026-01-17T12:00:00Z");
    assert.equal(work.started.length, 1, "what it missed while it was taken out is not owed");
  });

  test("is left out while a job works on the domain, says so, and is tried the next time", async () => {
    await work.add("DEMO", "*/10 * * * *");
    await server();
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const runner = createJobRunner({ jobsFolder: join(work.folder, "jobs") });
    const start = { router: "crawler", action: "crawl", object: "DEMO", dryRun: false, endpoint: "test" };
    const running = await runner.start(start, async () => {
      await finished;
      return { ok: true, error: "", data: {} };
    });
    await at("2026-01-15T10:10:00Z");
    assert.deepEqual(work.started, []);
    assert.match(work.logged.join("\n"), new RegExp(`Skipped the scheduled crawl of 'DEMO': job '${running.jobId}'`));
    finish();
    await running.done;
    await at("2026-01-15T10:15:00Z");
    assert.deepEqual(work.started, [], "not before the next time");
    await at("2026-01-15T10:20:00Z");
    assert.deepEqual(work.started, ["DEMO 2026-01-15T10:20"]);
    await runner.stop("over");
  });

  test("a clock that is set back starts nothing twice; one that was wrong by days is not waited for", async () => {
    await work.add("DEMO", "0 * * * *");
    await server();
    await at("2026-01-15T11:00:01Z");
    await at("2026-01-15T10:30:00Z");
    await at("2026-01-15T11:00:01Z");
    assert.equal(work.started.length, 1);
    await at("2027-06-01T12:00:00Z");
    assert.equal(work.started.length, 2);
    await at("2026-01-15T11:10:00Z");
    await at("2026-01-15T12:00:00Z");
    assert.equal(work.started.length, 3);
  });

  test("goes by UTC, so that an hour that summer time skips or repeats is one like any other", async () => {
    const zone = process.env["TZ"];
    process.env["TZ"] = "Europe/Berlin";
    try {
      await work.add("DEMO", "30 0,1 * * *");
      await at("2026-10-25T00:00:00Z");
      for (let minute = 0; minute <= 180; minute += 10) {
        await at(new Date(Date.UTC(2026, 9, 25, 0, minute)).toISOString());
      }
      assert.deepEqual(work.started, ["DEMO 2026-10-25T00:30", "DEMO 2026-10-25T01:30"]);
    } finally {
      if (zone === undefined) delete process.env["TZ"];
      else process.env["TZ"] = zone;
    }
  });

  test("broken domains, and starts that fail, do not keep the others", async () => {
    await work.add("A", "0 12 * * *");
    await work.add("B", "0 12 * * *");
    await mkdir(join(work.domainsFolder, "BROKEN"));
    await writeFile(join(work.domainsFolder, "BROKEN", "domain.json"), `{"schedule": "every day"}`);
    await writeFile(join(work.domainsFolder, "A", "schedule_state.json"), "no JSON");
    await server();
    work.beforeStart = (id) => {
      if (id === "A") throw new Error("no certificate");
    };
    await at("2026-01-15T12:00:00Z");
    await at("2026-01-15T12:00:15Z");
    assert.deepEqual(work.started, ["B 2026-01-15T12:00"]);
    const logged = work.logged.join("\n");
    assert.match(logged, /'A' could not be started: no certificate/);
    assert.equal(logged.match(/'BROKEN': .*'schedule' must be five fields/g)?.length, 1, "said once");
    const { entries } = await work.audit.list({ limit: 10, offset: 0, filter: "" });
    assert.deepEqual(entries.map(({ who, ok, what, error }) => [who.kind, what["domain_id"], ok, error]).sort(), [
      ["schedule", "A", false, "no certificate"],
      ["schedule", "B", true, ""],
    ]);
  });

  test("a crawl that could not be started is tried again, for an hour", async () => {
    await work.add("DEMO", "0 12 * * *");
    await server();
    work.beforeStart = () => {
      throw new Error("the store cannot be reached");
    };
    await at("2026-01-15T12:00:00Z");
    await at("2026-01-15T12:00:15Z");
    await at("2026-01-15T12:01:00Z");
    work.beforeStart = () => undefined;
    await at("2026-01-15T12:01:15Z");
    assert.deepEqual(work.started, [], "not at every look");
    await at("2026-01-15T12:02:00Z");
    await at("2026-01-15T12:03:30Z");
    assert.deepEqual(work.started, ["DEMO 2026-01-15T12:02"]);
    work.beforeStart = () => {
      throw new Error("the store is gone");
    };
    for (let minute = 0; minute <= 60; minute += 5) {
      await at(new Date(Date.UTC(2026, 0, 16, 12, minute)).toISOString());
    }
    work.beforeStart = () => undefined;
    await at("2026-01-16T14:00:00Z");
    assert.equal(work.started.length, 1, "it was given up");
    const logged = work.logged.filter((line) => line.includes("the store is gone"));
    assert.match(logged.join("\n"), /Retrying for an hour\..*\n.*Skipped until its next scheduled time/);
    assert.equal(logged.length, 2, "said when it began and when it was over");
    await at("2026-01-17T12:00:00Z");
    assert.equal(work.started.length, 2);
  });

  test("waits while its domain is renamed: what is remembered of it may still have the other name", async () => {
    const [from, to] = ["DEMO", "NEXT"] as DomainId[] as [DomainId, DomainId];
    await work.add(from, "0 12 * * *");
    await server();
    await beginRename({ domainsFolder: work.domainsFolder, crawlerFolder: join(work.folder, "crawler") }, { from, to });
    await rename(join(work.domainsFolder, from), join(work.domainsFolder, to));
    await at("2026-01-15T12:00:07Z");
    assert.deepEqual(work.started, []);
    assert.equal(existsSync(join(work.folder, "crawler", to)), false);
    await work.ledgers.release(from);
    await rename(join(work.folder, "crawler", from), join(work.folder, "crawler", to));
    await work.ledgers.renameDomain({ from, to });
    await endRename(work.domainsFolder, { from, to });
    await at("2026-01-15T12:00:22Z");
    assert.deepEqual(work.started, ["NEXT 2026-01-15T12:00"]);
  });

  test("is gone with its domain, and does not bring its folder back", async () => {
    await work.add("DEMO", "* * * * *");
    await server();
    const demo = "DEMO" as DomainId;
    assert.equal((await work.ledgers.schedules.get(demo))?.schedule, "* * * * *");
    await work.domains.remove(demo, () => work.ledgers.forgetDomain(demo));
    await at("2026-01-15T10:05:00Z");
    assert.deepEqual(work.started, []);
    for (const folder of ["domains", "crawler"]) assert.ok(!existsSync(join(work.folder, folder, "DEMO")));
  });
});

const BAD: readonly [text: string, problem: RegExp][] = [
  ["daily", /five fields/],
  ["@daily", /five fields/],
  ["0 2 * *", /five fields/],
  ["0 0 2 * * *", /five fields/],
  ["61 * * * *", /five fields/],
  ["? 2 * * *", /five fields/],
  ["0 0 31 2 *", /never comes/],
];
for (const [text, problem] of BAD) {
  test(`'${text}' is no schedule`, () => {
    assert.match(findCronProblem(text), problem);
    assert.throws(() => parseDomainInput({ domain_id: "D", name: "D", schedule: text }), /'schedule' .*"0 2 \* \* \*"/);
  });
}
for (const text of ["0 2 * * *", "*/15 8-18 * * MON-FRI", "0 0 29 2 *", "0 6 1,15 * *"]) {
  test(`'${text}' is a schedule`, () => assert.equal(findCronProblem(text), ""));
}
