// A domain with an invalid schedule works like any other, and the doctor reports it.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { PlacedFinding } from "../../src/engine/doctor.ts";
import { parseDomainInput } from "../kinds.ts";
import { DOMAIN, World } from "./world.ts";

test("a domain with a schedule that is none is crawled, searched and changed like any other, and the doctor says so", async () => {
  const world = await World.open({ domain: { schedule: "0 2 * * *" } });
  try {
    const file = join(world.storage, "domains", DOMAIN, "domain.json");
    const schedule = async (): Promise<unknown> => JSON.parse(await readFile(file, "utf8")).schedule;
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), schedule: "daily" }));
    await world.change("add", { path: "a.txt", text: "The zebra rule is one." });
    assert.equal((await world.crawl()).job.result?.error, "");
    assert.deepEqual(await world.found("zebra"), ["a.txt"]);
    const { domains, broken } = await world.app.domains.list();
    assert.deepEqual([domains.length, broken.length], [1, 0]);

    const findings: PlacedFinding[] = [];
    for await (const one of world.app.examine(DOMAIN, new AbortController().signal)) findings.push(one);
    const finding = findings.find(({ subject }) => subject === "Schedule") ?? assert.fail("the doctor says nothing");
    assert.deepEqual([finding.outcome, finding.domainId], ["problem", DOMAIN]);
    assert.match(finding.detail, /not crawled by itself: 'schedule' must be five fields.*'daily'/);

    const change = async (body: object): Promise<void> => {
      const before = await world.app.domains.get(DOMAIN);
      await world.app.domains.update(parseDomainInput(body, before), before);
    };
    await change({ description: "Everything about zebras" });
    assert.equal(await schedule(), "daily", "what somebody wrote by hand is not thrown away");
    await change({ schedule: "" });
    assert.equal(await schedule(), "");
    assert.equal((await world.app.domains.get(DOMAIN)).scheduleProblem, undefined);
  } finally {
    await world.close();
  }
});
