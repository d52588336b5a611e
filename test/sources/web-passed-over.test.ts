// Pages that were skipped for a parameter come back when it proves to matter.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import { identifyUrl, USUAL_RULES } from "../../src/plan/web/item-identity.ts";
import { newItem } from "../../src/plan/web/item-state.ts";
import { AddressVariants, SkippedVariants } from "../../src/sources/web/site/address-variants.ts";
import { Frontier, type WaitingPage } from "../../src/sources/web/site/frontier.ts";
import { VisitWorld } from "./web-visit-world.ts";

const ORIGIN = "https://zoo.test";
let world: VisitWorld;
let variants: AddressVariants;
let passed: SkippedVariants;
before(async () => {
  world = await VisitWorld.open();
  variants = new AddressVariants(world.registry, USUAL_RULES);
  passed = new SkippedVariants(10_000, variants, new Frontier(USUAL_RULES, 10_000));
});
after(() => world.close());

const idOf = (path: string): ItemId => identifyUrl(ORIGIN + path, USUAL_RULES).id;
const waiting = (path: string): WaitingPage => ({ id: idOf(path), url: ORIGIN + path, depth: 1 });

/** Those addresses show one text, the first of them as a page. */
async function showAlike(text: string, paths: readonly string[]): Promise<void> {
  for (const [at, path] of paths.entries()) {
    const found = newItem(identifyUrl(ORIGIN + path, USUAL_RULES), new Date());
    const content = { ...found.content, contentHash: text, textHash: text, documentType: "md" };
    await variants.during(async (duplicateOf) => {
      await duplicateOf(found, ORIGIN + path, content);
      if (at === 0) await world.registry.put({ ...found, status: "Crawled", content }, null);
    });
  }
}

function note(page: WaitingPage, shows: "itself" | "another"): void {
  const id = shows === "itself" ? page.id : idOf("/other");
  passed.note(page, { outcome: "new", item: { ...newItem(identifyUrl(page.url, USUAL_RULES), new Date()), id } });
}

test("one address that is another page brings back all that were passed over for one of its parameters, and has other paths tested again", async () => {
  const values = Array.from({ length: 100 }, (_, at) => at + 10);
  for (const path of ["/x", "/y"]) {
    await showAlike(
      `${path} a`,
      [1, 2, 3, 4].map((value) => `${path}?a=${value}`),
    );
    await showAlike(
      `${path} b`,
      [1, 2, 3, 4].map((value) => `${path}?b=${value}`),
    );
    note(waiting(path), "itself");
    for (const value of values) assert.ok(passed.pass(waiting(`${path}?a=${value}`)));
  }
  assert.ok(passed.pass(waiting("/x?a=9&b=9")));
  const samples = passed.next();
  for (const page of samples) note(page, page.url.includes("b=9") ? "itself" : "another");
  const sampled = new Set(samples.map(({ id }) => id));
  const left = (path: string): string[] =>
    values.map((value) => `${path}?a=${value}`).filter((each) => !sampled.has(idOf(each)));
  const back = passed.next().map(({ url }) => url.slice(ORIGIN.length));
  assert.deepEqual(back, left("/x"));
  const again = passed.next().map(({ url }) => url.slice(ORIGIN.length));
  assert.ok(again.length > 0 && again.every((path) => left("/y").includes(path)), "the other path is tested again");
});
