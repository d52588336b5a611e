// The explanation of a document says why a search finds it or does not.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { DocumentExplanation, ExplainedDocument } from "../../src/engine/explain/explain.ts";
import type { Stage } from "../../src/engine/explain/stages.ts";
import { openStage } from "../stories/stage.ts";
import { DOMAIN, LIBRARY, World } from "./world.ts";

function explainIn(world: World, document: string, query: string): Promise<DocumentExplanation> {
  return world.app.explainDocument({ domainId: DOMAIN, query, document });
}

function only({ documents }: DocumentExplanation): ExplainedDocument {
  const [one, ...others] = documents;
  assert.equal(others.length, 0, others.map(({ name }) => name).join());
  return one ?? assert.fail("nothing is explained");
}

function stage({ stages }: ExplainedDocument, name: Stage["name"]): Stage {
  return stages.find((each) => each.name === name) ?? assert.fail(name);
}

function outcomes({ stages }: ExplainedDocument): string {
  return stages.map(({ outcome }) => outcome).join(", ");
}

describe("why a document is, or is not, found", () => {
  let world: World;
  before(async () => {
    world = await World.open();
    await world.change("add", { path: "Birds/heron.txt", text: "The heron wades through the lagoon at dawn." });
    await world.change("add", { path: "ladder.txt", text: "Ladders are inspected every spring." });
    await world.change("add", { path: "photo.xyz", text: "not for the index" });
    await world.change("add", { path: "broken.pdf", text: "no PDF at all" });
    await world.change("add", { path: "old name.txt", text: "Umbrellas hang beside the door." });
    await world.change("add", { path: "gone.txt", text: "The pantry key is under the mat." });
    for (let i = 1; i <= 70; i++) {
      const text = `Zeppelin number ${i}: zeppelin zeppelin, moored over ${"abcdefghijklmnopqrstuvwxyz"[i % 26]}${i} hill.`;
      await world.change("add", { path: `fleet/zeppelin ${i}.txt`, text });
      if (i <= 12) await world.change("add", { path: `kite ${i}.txt`, text: text.replaceAll(/zeppelin/gi, "kite") });
    }
    const filler = "Sand, gravel and clay are sorted by the size of their grains and kept in separate bays. ".repeat(6);
    await world.change("add", {
      path: "minutes.txt",
      text: `${filler}Somebody mentioned a zeppelin and a kite. ${filler}`,
    });
    await world.crawl();
    await world.change("rename", { path: "old name.txt", name: "new name.txt" });
    await world.change("delete", { path: "gone.txt" });
    await world.crawl();
  });
  after(() => world.close());
  const ask = async (document: string, query: string): Promise<ExplainedDocument> =>
    only(await explainIn(world, document, query));

  test("found at the first place, however the document is called", async () => {
    const heron = await ask("heron.txt", "heron lagoon");
    assert.equal(outcomes(heron), "ok, ok, ok, ok");
    assert.match(heron.verdict, /^Found at place 1 with a score of [01]\.\d\d \(words [01]\.\d\d, meaning .*\)\.$/);
    assert.deepEqual([heron.sourceId, heron.path], ["docs", "Birds/heron.txt"]);
    assert.match(stage(heron, "index").detail, /^In the index since generation 1, as file 'file-/);
    const fileId = /'(file-[^']+)'/.exec(stage(heron, "index").detail)?.[1] ?? "";
    const names = [
      heron.itemId,
      fileId,
      "birds/heron.txt",
      `${LIBRARY}/Birds/heron.txt`,
      heron.url,
      "HERON.TXT",
      "eron",
    ];
    for (const called of names) assert.equal((await ask(called, "heron")).itemId, heron.itemId, called);
  });

  test("found, but beyond what is shown: at which place, by which score", async () => {
    const minutes = await ask("minutes.txt", "kite");
    assert.equal(outcomes(minutes), "ok, ok, ok, problem");
    const [, place, own, last] =
      /^Found only at place (\d+): it scores ([\d.]+), the last of the 10 shown ([\d.]+)\./.exec(minutes.verdict) ?? [];
    assert.ok(Number(place) > 10, minutes.verdict);
    assert.ok(Number(own) <= Number(last), minutes.verdict);
    assert.match(stage(minutes, "search").detail, /Every word of the query is in it\.$/);
  });

  test("not among the results at all: how far it is from them, and which words it has", async () => {
    const ladder = await ask("ladder.txt", "zeppelin ladder");
    assert.match(ladder.verdict, /^Found at place \d+/);
    const minutes = await ask("minutes.txt", "zeppelin moored hill");
    const [, own, last] =
      /^Not among the first 50 results: its best passage scores ([\d.]+) where the last result shown scores ([\d.]+)\./.exec(
        minutes.verdict,
      ) ?? assert.fail(minutes.verdict);
    assert.ok(Number(own) < Number(last), minutes.verdict);
    assert.match(stage(minutes, "search").detail, /In it: 'zeppelin'; not in it: 'moored', 'hill'\.$/);
    const far = await ask("ladder.txt", "zeppelin moored hill");
    assert.equal(outcomes(far), "ok, ok, ok, problem");
    assert.equal(far.verdict, "Nothing in it answers this query.");
    assert.match(stage(far, "search").detail, /None of the words 'zeppelin', 'moored', 'hill' is in it\.$/);
  });

  test("a type that is not taken in", async () => {
    const photo = await ask("photo.xyz", "index");
    assert.equal(outcomes(photo), "ok, problem, not reached, not reached");
    assert.equal(photo.verdict, "Files of type 'xyz' are not taken in, so it was not downloaded.");
  });

  test("a file that cannot be read", async () => {
    const broken = await ask("broken.pdf", "anything");
    assert.equal(outcomes(broken), "ok, problem, not reached, not reached");
    assert.match(broken.verdict, /^The file was downloaded, but cannot be read: ./);
    assert.match(stage(broken, "mirror").detail, /03_failed.*retry_failed=true/);
  });

  test("deleted at the source: it is remembered as long as a generation is", async () => {
    const gone = await ask("gone.txt", "pantry key");
    assert.equal(outcomes(gone), "problem, not reached, not reached, not reached");
    assert.match(
      gone.verdict,
      /^A crawl did not find it at the source any more.*generation 2 took it out of the index\.$/,
    );
    assert.deepEqual([gone.sourceId, gone.path], ["docs", "gone.txt"]);
  });

  test("renamed: the old name leads to the new one", async () => {
    const renamed = await ask("old name.txt", "umbrellas door");
    assert.equal(renamed.name, "new name.txt");
    assert.match(stage(renamed, "source").detail, /^It is called 'new name\.txt' now\. The last crawl saw it/);
    assert.match(renamed.verdict, /^Found at place 1 /);
    assert.equal((await ask("new name.txt", "umbrellas door")).itemId, renamed.itemId);
  });

  test("never heard of: where it was looked for, and what it may be called", async () => {
    const nobody = await ask("herron.txt", "heron");
    assert.equal(outcomes(nobody), "problem, not reached, not reached, not reached");
    assert.match(nobody.verdict, /^Nothing of that name, .* among the 88 items that the sources 'docs' listed\.$/);
    assert.match(stage(nobody, "source").detail, /Close to it: 'heron\.txt'/);
  });

  test("part of a name means all that have it: ten are told, and how many more there are", async () => {
    const { documents, more } = await explainIn(world, "zeppelin", "zeppelin");
    assert.deepEqual([documents.length, more], [10, 60]);
  });
});

test("held and rolled back: each says what to do", async () => {
  const world = await World.open();
  try {
    await world.change("fill", { path: "bulk", count: 40 });
    await world.crawl();
    await world.change("add", { path: "heron.txt", text: "The heron wades." });
    await world.crawl();
    await world.app.rollback(DOMAIN, 1, { dryRun: false });
    const hidden = only(await explainIn(world, "heron.txt", "heron"));
    assert.equal(outcomes(hidden), "ok, ok, problem, not reached");
    assert.equal(hidden.verdict, "It came with generation 2, but the domain is rolled back to generation 1.");
    await world.app.release(DOMAIN);
    assert.match(only(await explainIn(world, "heron.txt", "heron")).verdict, /^Found at place 1/);
    await world.change("delete", { path: "bulk" });
    await world.crawl();
    const { documents } = await explainIn(world, "bulk/", "number");
    assert.equal(documents[0]?.sourceId, "", "a folder is no document");
    const [row] = await world.map("files_map");
    const held = only(await explainIn(world, row?.["filename"] ?? "", "heron"));
    assert.equal(stage(held, "source").outcome, "problem");
    assert.match(stage(held, "source").detail, /Its removal is held; .*confirm_deletes=true/);
  } finally {
    await world.close();
  }
});

test("with a remote store: the records and the search tell, and nothing that only our own index knows is claimed", async () => {
  const remote = await openStage({}, "remote");
  try {
    await remote.plant();
    const { world } = remote;
    const policy = only(await explainIn(world, "policy.txt", "hotel night"));
    assert.match(stage(policy, "index").detail, /^By our records it is in the vector store since .* as file '/);
    assert.match(policy.verdict, /^Found at place \d+ with a score of/);
    assert.equal(outcomes(policy), "ok, ok, ok, ok");
    const nobody = only(await explainIn(world, "nothing-like-it.txt", "hotel"));
    assert.equal(nobody.sourceId, "");
  } finally {
    await remote.close();
  }
});

test("a document of which another one says nearly the same is not said to answer nothing", async (t) => {
  const world = await World.open();
  t.after(() => world.close());
  const towns = "Ulm Bonn Kiel Jena Mainz Trier Gera Hof Suhl Celle Fulda Halle Essen Hamm Berlin".split(" ");
  for (const town of towns) {
    const text = `Reisekosten werden nach der Reise abgerechnet. Der Antrag wird im Portal gestellt, Belege werden angehängt. Eine Nacht im Hotel kostet in ${town} höchstens 120 Euro mit Frühstück. Bahnfahrten der zweiten Klasse werden erstattet, Taxi nur mit Begründung. Verpflegung wird pauschal bezahlt, bei mehr als acht Stunden Abwesenheit vierzehn Euro, bei vollen Tagen achtundzwanzig Euro.`;
    await world.change("add", { path: `Reisekosten ${town}.txt`, text });
  }
  for (const [at, place] of ["Park", "See", "Berg", "Fluss", "Wald", "Meer", "Markt", "Dom", "Hafen"].entries()) {
    await world.change("add", { path: `Hotel ${at}.txt`, text: `Hotel Nummer ${at} liegt am ${place}; hotel hotel.` });
  }
  await world.crawl();
  for (const town of towns) {
    const explained = only(await explainIn(world, `Reisekosten ${town}.txt`, "hotel"));
    assert.match(
      explained.verdict,
      /^Found at place 10 |^Its passage is nearly that of 'Reisekosten \w+\.txt', which stands for both at place 10\.$/,
    );
  }
});
