// The pages about domains show everything as text and offer only what the user may do.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Role } from "../../src/contracts/access.ts";
import { parseDomainId, type VectorStoreId } from "../../src/contracts/ids.ts";
import { parseDomainInput } from "../kinds.ts";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const HOSTILE = `<img src=x onerror=alert(1)> "'&`;
const ESCAPED = "&lt;img src=x onerror=alert(1)&gt; &quot;&#39;&amp;";
const LIST = "/v2/domains?format=ui";
const ONE = "/v2/domains/get?domain_id=DEMO&format=html";

describe("the pages about domains", () => {
  let served: Served;
  const keys: Record<Role, string> = { read: "", operate: "", admin: "" };
  before(async () => {
    served = await serveScripted({ settings: { RATE_LIMIT_PER_SECOND: "0" } });
    const source = { source_id: "documents", site_url: "https://example.sharepoint.com/sites/demo" };
    await served.app.domains.create(
      parseDomainInput({
        domain_id: "DEMO",
        name: HOSTILE,
        description: HOSTILE,
        file_sources: [{ ...source, sharepoint_url_part: `/${HOSTILE}`, filter: HOSTILE, max_removals: 7 }],
      }),
    );
    for (const role of ["admin", "operate", "read"] as const) {
      keys[role] = (await served.app.access.keys.create({ name: role, role, expiresAt: "" })).key;
    }
  });
  after(() => served.close());

  const show = async (path: string, role: Role = "admin"): Promise<string> => {
    const { status, text } = await ask(served.url, `GET ${path}`, {
      headers: { authorization: `Bearer ${keys[role]}` },
    });
    assert.equal(status, 200, text);
    return text;
  };

  it("show names, descriptions, places and filters as text, also in the fields of the editor", async () => {
    for (const path of [LIST, ONE]) {
      const text = await show(path);
      assert.doesNotMatch(text, /<img src=x/);
      assert.ok(text.includes(ESCAPED));
    }
    const page = await show(ONE);
    assert.ok(page.includes(`data-field="filter" value="${ESCAPED}"`));
    assert.ok(page.includes('data-field="max_removals" value="7"'));
  });

  it("offer everybody what they may do, and no more", async () => {
    const offers = async (role: Role): Promise<string[]> => {
      const both = (await show(LIST, role)) + (await show(ONE, role));
      const signs = { crawl: 'small" href="/v2/crawler?', edit: "data-domain-editor=", delete: "data-delete=" };
      return Object.entries(signs).flatMap(([name, sign]) => (both.includes(sign) ? [name] : []));
    };
    assert.equal(
      (await ask(served.url, `GET ${ONE}`, { headers: { authorization: `Bearer ${keys.read}` } })).status,
      403,
    );
    assert.deepEqual(await offers("operate"), ["crawl"]);
    assert.deepEqual(await offers("admin"), ["crawl", "edit", "delete"]);
  });

  it("say what becomes of the store of a domain that is deleted without it", async () => {
    const demo = await served.app.domains.get(parseDomainId("DEMO"));
    await served.app.domains.update({ ...demo, vectorStoreId: "vs_1" as VectorStoreId }, demo);
    assert.match(await show(ONE), /Unticked, the store stays: it can still be searched/);
  });

  it("tell of a domain that cannot be read, beside the others", async () => {
    await mkdir(join(served.folder, "domains", "BROKEN"), { recursive: true });
    await writeFile(join(served.folder, "domains", "BROKEN", "domain.json"), "{");
    const text = await show(LIST);
    assert.match(text, /role="alert"><bdi>Domain &#39;BROKEN&#39; cannot be read/);
    assert.match(text, /<code><bdi>DEMO<\/bdi><\/code>/);
  });
});

describe("the pages of a server without domains", () => {
  it("ask nobody to create one who may not", async (t) => {
    const served = await serveScripted({ settings: { RATE_LIMIT_PER_SECOND: "0" } });
    t.after(() => served.close());
    const show = async (path: string, key: string): Promise<string> =>
      (await ask(served.url, `GET ${path}`, { headers: { authorization: `Bearer ${key}` } })).text;
    const [admin, reader] = [
      (await served.app.access.keys.create({ name: "admin", role: "admin", expiresAt: "" })).key,
      (await served.app.access.keys.create({ name: "reader", role: "read", expiresAt: "" })).key,
    ];
    for (const path of [LIST, "/v2/crawler?format=ui", "/v2/search?format=ui", "/"]) {
      assert.doesNotMatch(await show(path, reader), /Create the first|Create a domain|Create and crawl/, path);
      const isForReaders = path === "/" || path.startsWith("/v2/search");
      const said = isForReaders ? /nothing to search yet/ : /This page is for those who look after lockstep/;
      assert.match(await show(path, reader), said, path);
      assert.match(await show(path, admin), /Create the first|Create a domain|Create and crawl/, path);
    }
  });

  it("show where the first key is made", async (t) => {
    const served = await serveScripted();
    t.after(() => served.close());
    assert.match((await ask(served.url, "GET /")).text, /href="\/v2\/keys\?format=ui"/);
  });
});
