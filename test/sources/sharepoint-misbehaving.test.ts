// Wrong responses of SharePoint are not followed or believed.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { listAll, rowOf, sendJson, startScriptedTenant } from "./scripted-tenant.ts";
import { useScriptedTenant } from "./scripted-world.ts";

const SIGNAL = new AbortController().signal;

describe("a SharePoint that lists what it should not", () => {
  const world = useScriptedTenant();

  it("gets no token at another host: a foreign link to the next page is not followed", async () => {
    const foreign = await startScriptedTenant(() => undefined);
    try {
      const source = await world.open((_, response, url) => {
        if (!url.pathname.endsWith("/items")) return false;
        return sendJson(response, 200, {
          value: [rowOf(1, "a.txt")],
          "odata.nextLink": `${foreign.url}/sites/s/_api/x`,
        });
      });
      const listed = await listAll(source);
      assert.equal(listed.completeness, "partial");
      assert.equal(listed.sightings.length, 1);
      assert.match(listed.unreadable[0]?.reason ?? "", /another host/);
      assert.equal(listed.unreadable[0]?.path, "");
      assert.deepEqual(foreign.requests, []);
    } finally {
      await foreign.close();
    }
  });

  it("is left when it sends the same link again and again", async () => {
    const source = await world.open((_, response, url) => {
      if (!url.pathname.endsWith("/items")) return false;
      return sendJson(response, 200, {
        value: [rowOf(1, "a.txt")],
        "odata.nextLink": `${world.tenant.url}${url.pathname}?p=2`,
      });
    });
    const listed = await listAll(source);
    assert.equal(listed.completeness, "partial");
    assert.deepEqual(
      listed.sightings.map((sighting) => sighting.path),
      ["a.txt"],
    );
    assert.match(listed.unreadable[0]?.reason ?? "", /same page/);
  });

  it("may give its links relative to _api", async () => {
    const source = await world.open((_, response, url) => {
      if (url.pathname.endsWith("/Items")) return sendJson(response, 200, { value: [rowOf(2, "b.txt")] });
      if (!url.pathname.endsWith("/items")) return false;
      return sendJson(response, 200, {
        value: [rowOf(1, "a.txt")],
        "odata.nextLink": "Web/Lists(guid'1')/Items?$skiptoken=2",
      });
    });
    const listed = await listAll(source);
    assert.equal(listed.completeness, "complete");
    assert.deepEqual(
      listed.sightings.map((sighting) => sighting.path),
      ["a.txt", "b.txt"],
    );
    assert.ok(world.tenant.requests.includes("/sites/s/_api/Web/Lists(guid'1')/Items?$skiptoken=2"));
  });

  it("may not know the content tag", async () => {
    const source = await world.open((_, response, url) => {
      if (!url.pathname.endsWith("/items")) return false;
      if (url.search.includes("ContentTag")) {
        const error = {
          code: "-1, Microsoft.SharePoint.SPException",
          message: { value: "The field 'ContentTag' does not exist." },
        };
        return sendJson(response, 400, { "odata.error": error });
      }
      const row = rowOf(1, "a.txt");
      return sendJson(response, 200, {
        value: [{ ...row, File: { ...(row["File"] as object), ContentTag: undefined } }],
      });
    });
    const listed = await listAll(source);
    assert.equal(listed.completeness, "complete");
    assert.equal(listed.sightings[0]?.fingerprint.contentVersion, "");
  });

  it("sends a row twice, or one that makes no sense", async () => {
    const source = await world.open((_, response, url) => {
      if (!url.pathname.endsWith("/items")) return false;
      if (url.searchParams.has("p")) return sendJson(response, 200, { value: [rowOf(2, "b.txt"), rowOf(3, "c.txt")] });
      const rows = [
        rowOf(1, "old.txt"),
        rowOf(1, "new.txt"),
        rowOf(2, "b.txt"),
        { ...rowOf(9, "x.txt"), UniqueId: "" },
      ];
      return sendJson(response, 200, { value: rows, "odata.nextLink": `${world.tenant.url}${url.pathname}?p=2` });
    });
    const listed = await listAll(source);
    assert.deepEqual(
      listed.sightings.map((sighting) => sighting.path),
      ["new.txt", "b.txt", "c.txt"],
    );
    assert.deepEqual(
      listed.unreadable.map((each) => each.path),
      ["x.txt"],
    );
    assert.equal(listed.completeness, "complete");
  });

  it("counts more than it lists: believed when it shows the same from both ends, and the count stands still", async () => {
    let count = 3;
    const source = await world.open((_, response, url) => {
      if (url.pathname.endsWith("/items"))
        return sendJson(response, 200, { value: [rowOf(1, "a.txt"), rowOf(2, "b.txt")] });
      if (!url.pathname.includes("GetListUsingPath")) return false;
      const root = { ServerRelativeUrl: "/sites/s/Shared Documents" };
      return sendJson(response, 200, { Id: "1", Title: "D", ItemCount: count, RootFolder: root });
    });
    const short = await listAll(source);
    assert.deepEqual([short.completeness, short.unreadable, source.hiddenRows?.()], ["complete", [], 1]);
    // The third one is deleted while the second listing is under way.
    const listing = source.list(SIGNAL);
    await listing.next();
    count = 2;
    let step = await listing.next();
    while (!step.done) step = await listing.next();
    assert.equal(step.value, "complete");
    assert.equal(source.hiddenRows?.(), 0);
    count = 5;
    const growing = source.list(SIGNAL);
    await growing.next();
    count = 6;
    const end = await growing.next();
    assert.match(JSON.stringify(end.value), /changed while it was listed/);
  });

  it("has no folder of that name: nothing is listed rather than nothing found", async () => {
    const missing = {
      "odata.error": { code: "-2147024894, System.IO.FileNotFoundException", message: { value: "File Not Found." } },
    };
    const source = await world.open(
      (_, response, url) => url.pathname.includes("GetFolder") && sendJson(response, 404, missing),
      { urlPart: "/Shared Documents/Gone" },
    );
    await assert.rejects(listAll(source), /has no folder '\/sites\/s\/Shared Documents\/Gone'/);
  });

  it("loses the folder while it is listed", async () => {
    let asked = 0;
    const source = await world.open(
      (_, response, url) => {
        if (!url.pathname.includes("GetFolder")) return false;
        asked += 1;
        return sendJson(response, 200, { Exists: asked === 1 });
      },
      { urlPart: "/Shared Documents/Moved" },
    );
    const listed = await listAll(source);
    assert.equal(listed.completeness, "partial");
    assert.match(listed.unreadable[0]?.reason ?? "", /no longer there/);
  });

  it("answers for a site that was renamed", async () => {
    const source = await world.open((_, response, url) =>
      url.pathname.endsWith("/_api/web") ? sendJson(response, 200, { ServerRelativeUrl: "/sites/new" }) : false,
    );
    await assert.rejects(listAll(source), /calls itself '\/sites\/new'/);
    assert.ok(!world.tenant.requests.some((path) => path.includes("items")));
  });

  it("redirects: the token does not follow", async () => {
    const source = await world.open((_, response, url) => {
      if (!url.pathname.endsWith("/_api/web")) return false;
      response.writeHead(302, { location: "/elsewhere?secret=1" }).end();
      return true;
    });
    await assert.rejects(listAll(source), /302 \(redirect to \/elsewhere\).*check 'site_url'/);
    assert.ok(!world.tenant.requests.some((path) => path.startsWith("/elsewhere")));
  });

  it("is a list where a library was expected", async () => {
    const source = await world.open((_, response, url) => {
      if (!url.pathname.includes("GetListUsingPath")) return false;
      const root = { ServerRelativeUrl: "/sites/s/Lists/Tasks" };
      return sendJson(response, 200, { Id: "1", Title: "T", BaseType: 0, ItemCount: 0, RootFolder: root });
    });
    await assert.rejects(listAll(source), /is a list, not a document library/);
  });
});
