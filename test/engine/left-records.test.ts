// A page that nobody has linked to in three crawls leaves index and registry.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { NotFoundError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import { html, linksTo } from "../sources/web-visit-world.ts";
import { WebStory } from "./web-story.ts";

let story: WebStory;
beforeEach(async () => {
  story = await WebStory.open();
  story.site.set("/", html("About gnu", linksTo("/a")));
  story.site.set("/a", html("About okapi", linksTo()));
});
afterEach(() => story.close());

test("once nobody has linked to a page in three crawls, neither index nor registry has it", async () => {
  await story.crawl();
  const { "/a": id } = await story.indexed();
  story.site.set("/", html("About gnu", linksTo()));
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(await story.found("okapi"), ["/a"]);
    assert.equal((await story.app.ingest.item(id as ItemId)).item.status, "Indexed");
    await story.crawl();
  }
  assert.deepEqual(await story.found("okapi"), []);
  await assert.rejects(story.app.ingest.item(id as ItemId), NotFoundError);
});
