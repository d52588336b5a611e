// /v2/search/explain tells how far a document got on its way to the search.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DOMAIN } from "../engine/world.ts";
import { ask } from "./ask.ts";
import { type ServedWorld, serveWorld } from "./served-world.ts";

interface Explained {
  readonly name: string;
  readonly source_id: string;
  readonly verdict: string;
  readonly stages: readonly { readonly name: string; readonly outcome: string; readonly detail: string }[];
}

const EXPLAIN = `/v2/search/explain?domain_id=${DOMAIN}`;

describe("/v2/search/explain", () => {
  let served: ServedWorld;
  before(async () => {
    served = await serveWorld({}, async (world) => {
      await world.change("add", { path: "Travel/policy.txt", text: "A hotel night is approved by the zebra desk." });
      await world.change("add", { path: "film.mp4", text: "moving pictures" });
      await world.crawl();
    });
  });
  after(() => served?.close());

  const explain = async (query: string, document: string): Promise<Explained> => {
    const path = `${EXPLAIN}&query=${encodeURIComponent(query)}&document=${encodeURIComponent(document)}`;
    const { status, json } = await ask(served.url, `GET ${path}`);
    assert.equal(status, 200, JSON.stringify(json));
    const { documents } = (json as unknown as { data: { documents: Explained[] } }).data;
    return documents[0] ?? assert.fail("nothing was explained");
  };
  const outcomes = ({ stages }: Explained): string[] => stages.map(({ name, outcome }) => `${name}: ${outcome}`);

  it("tells the whole way of a document that is found", async () => {
    const found = await explain("zebra hotel", "policy.txt");
    assert.deepEqual(outcomes(found), ["source: ok", "mirror: ok", "index: ok", "search: ok"]);
    assert.equal(found.source_id, "docs");
    const byPath = await explain("zebra hotel", "Travel/policy.txt");
    assert.deepEqual(byPath, found);
  });

  it("tells where the way ends", async () => {
    const film = await explain("pictures", "film.mp4");
    assert.ok(outcomes(film).some((outcome) => outcome.endsWith(": problem")));
    assert.match(JSON.stringify(film), /mp4/);
    const unknown = await explain("pictures", "nobody.docx");
    assert.equal(unknown.source_id, "");
    assert.equal(unknown.stages[0]?.outcome, "problem");
  });

  it("is a page, too, in which everything is text", async () => {
    const page = await ask(served.url, `GET ${EXPLAIN}&query=%3Cb%3Ezebra&document=%3Ci%3Epolicy.txt&format=html`);
    assert.equal(page.status, 200);
    assert.match(page.text, /&lt;b&gt;zebra/);
    assert.match(page.text, /&lt;i&gt;policy\.txt/);
    assert.doesNotMatch(page.text, /<b>zebra|<i>policy/);
    assert.match(page.text, /At the source/);
  });

  it("says its verdict once on the page", async () => {
    for (const [query, document] of [
      ["zebra hotel", "policy.txt"],
      ["pictures", "film.mp4"],
    ] as const) {
      const { verdict } = await explain(query, document);
      const { text } = await ask(
        served.url,
        `GET ${EXPLAIN}&query=${encodeURIComponent(query)}&document=${document}&format=html`,
      );
      const shown = verdict.replaceAll("&", "&amp;").replaceAll("'", "&#39;").replaceAll('"', "&quot;");
      assert.equal(text.split(shown).length - 1, 1, shown);
    }
  });

  for (const [what, status, error] of [
    [`GET ${EXPLAIN}&query=x`, 400, /^Missing 'document'\.$/],
    [`GET ${EXPLAIN}&document=x`, 400, /^Missing 'query'\.$/],
    ["GET /v2/search/explain?query=x&document=y", 400, /^Missing 'domain_id'\.$/],
    ["GET /v2/search/explain?domain_id=NONE&query=x&document=y", 404, /NONE/],
    [`GET ${EXPLAIN}&query=x&document=y&format=ui`, 400, /^Format 'ui' not supported\.$/],
  ] as const) {
    it(`refuses ${what}`, async () => {
      const reply = await ask(served.url, what);
      assert.equal(reply.status, status, reply.text);
      assert.match(String(reply.json["error"]), error);
    });
  }
});
