// A page that needs scripts is reported, or read with a browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createPageVisitor } from "../../src/sources/web/page-visitor.ts";
import { createPageRenderer } from "../../src/sources/web/render-page.ts";
import { chromiumPath } from "../browser/open-browser.ts";
import { VisitWorld } from "./web-visit-world.ts";

const page = '<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>';
const script = (word: string): string =>
  `document.getElementById("root").innerHTML = "<h1>App</h1><p>What only scripts know: ${word}.</p><a href='/next'>next</a>";`;

test("a page that needs scripts is reported, and with a browser read again, in every look", async (t) => {
  const world = await VisitWorld.open();
  t.after(() => world.close());
  const { signal } = new AbortController();
  const look = async (visitor = world.visitor) => await visitor.visit(world.url("/app"), { force: false, signal });
  world.site.set("/app", page);
  world.site.set("/app.js", { type: "text/javascript", body: script("okapi") });
  const bare = await look();
  assert.deepEqual([bare.outcome, (await look()).outcome], ["new", "unchanged"]);
  assert.match(bare.reason, /unless its scripts run\. Set WEB_RENDER=true/);
  const renderer = createPageRenderer({ client: world.client, browserPath: await chromiumPath(), timeoutMs: 90_000 });
  const visitor = createPageVisitor({ ...world.parts, renderer });
  const shown = await look(visitor);
  assert.deepEqual([shown.outcome, shown.reason], ["changed", ""]);
  assert.match(await world.text(shown.item), /okapi/);
  assert.deepEqual(shown.links.get(shown.item.id), [world.url("/next")]);
  world.site.set("/app.js", { type: "text/javascript", body: script("tapir") });
  const again = await look(visitor);
  assert.equal(again.outcome, "changed", "the page is the same, what it shows is not");
  await renderer.close();
  const broken = createPageRenderer({ client: world.client, browserPath: "/nowhere/chromium", timeoutMs: 5000 });
  const failed = await look(createPageVisitor({ ...world.parts, renderer: broken }));
  assert.deepEqual([failed.outcome, failed.item.content.contentHash], ["failed", again.item.content.contentHash]);
});
