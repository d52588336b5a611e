// The explanation of an address that is not found says what the registry knows of it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { INGEST, IngestStage } from "./ingest-stage.ts";

let stage: IngestStage;
before(async () => {
  stage = await IngestStage.open();
  const { answers, url } = { answers: stage.pages.answers, url: (path: string) => stage.pages.url(path) };
  answers.set("/okapi", { text: "The okapi sleeps standing." });
  answers.set("/hidden", { text: "Not for search.", head: '<meta name="robots" content="noindex">' });
  answers.set("/old", { status: 301, headers: { location: url("/okapi") } });
  answers.set("/ill", { status: 500 });
  for (const path of ["/okapi", "/hidden", "/old", "/missing", "/ill"]) await stage.add(path);
  await stage.round();
  await stage.add("/later");
});
after(() => stage.close());

async function verdicts(document: string): Promise<string[]> {
  const { documents } = await stage.app.explainDocument({ domainId: INGEST, query: "okapi", document });
  return documents.map(({ verdict }) => verdict);
}

test("an address that is not found is explained by what the registry says of it", async () => {
  const url = (path: string): string => stage.pages.url(path);
  const expected: readonly [document: string, verdict: RegExp][] = [
    [`${url("/okapi/")}?utm_source=mail#top`, /^Found at place 1 /],
    [url("/hidden"), /^It must not be indexed, as the look at it 2.* found\. .*noindex/],
    [url("/missing"), /^The look at it 2.* failed\. The server answered 404.*1 of 3/],
    [url("/ill"), /^The look at it 2.* failed\. .*500.* It is asked again 2/],
    [await stage.add("/later"), /^It is registered and waits to be looked at/],
    [url("/nobody"), /^Nothing of that name/],
  ];
  for (const [document, verdict] of expected) {
    const said = await verdicts(document);
    assert.equal(said.length, 1, said.join());
    assert.match(said[0] ?? "", verdict);
  }
  const [alias, target] = await verdicts(url("/old"));
  assert.match(alias ?? "", /^It is another address of 'http[^']+\/okapi'/);
  assert.match(target ?? "", /^Found at place 1 /);
});
