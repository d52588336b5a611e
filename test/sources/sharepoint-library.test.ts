// A library is listed with everything that SharePoint tells.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openSharePointLibrary } from "../../src/sources/sharepoint/open-sharepoint-library.ts";
import { DOCS, paths, useSandbox } from "./sandbox-world.ts";
import { fetchText, listAll, sourceConfig } from "./scripted-tenant.ts";

describe("a library of SharePoint is listed", () => {
  const world = useSandbox();

  it("lists everything over several pages, folders not among it", async () => {
    for (let i = 0; i < 7; i += 1) world.add(`A/B${i % 2}/file-${i}.txt`);
    const listed = await listAll(world.open({ pageSize: 3 }));
    assert.equal(listed.completeness, "complete");
    assert.deepEqual(listed.unreadable, []);
    assert.deepEqual(
      paths(listed.sightings),
      [0, 2, 4, 6, 1, 3, 5].map((i) => `A/B${i % 2}/file-${i}.txt`),
    );
    const pages = world.sandbox.state.log.entries().filter((entry) => /\/items\?/.test(entry.url));
    assert.equal(pages.length, 4, "7 files and 3 folders by threes");
    assert.ok(pages.every((page) => /^NONISV\|lockstep\|lockstep\/\d/.test(page.headers["user-agent"] ?? "")));
  });

  it("tells what SharePoint tells", async () => {
    world.add("Reports/Q1.txt", "hello", { at: "2024-03-29T17:58:05Z" });
    const sighting = await world.theItem(world.open());
    assert.match(sighting.itemId, /^[0-9a-f-]{36}$/);
    assert.ok(sighting.listItemId > 0);
    assert.equal(sighting.name, "Q1.txt");
    assert.equal(sighting.serverPath, `${DOCS}/Reports/Q1.txt`);
    assert.equal(sighting.url, `${world.sandbox.url}/sites/demo/Shared%20Documents/Reports/Q1.txt`);
    assert.equal(sighting.rawUrl, `${world.sandbox.url}${DOCS}/Reports/Q1.txt`);
    assert.equal(sighting.fingerprint.size, 5);
    assert.equal(sighting.fingerprint.modifiedAt, "2024-03-29T17:58:05.000000Z");
    assert.notEqual(sighting.fingerprint.etag, "");
  });

  it("keeps id and content version through a rename, and changes the version with the content", async () => {
    world.add("a.txt", "one");
    const source = world.open();
    const first = await world.theItem(source);
    world.act("rename", { path: `${DOCS}/a.txt`, name: "b.txt" });
    const renamed = await world.theItem(source);
    assert.equal(renamed.itemId, first.itemId);
    assert.equal(renamed.path, "b.txt");
    assert.notEqual(renamed.fingerprint.etag, first.fingerprint.etag);
    assert.notEqual(first.fingerprint.contentVersion, "");
    assert.equal(renamed.fingerprint.contentVersion, first.fingerprint.contentVersion);
    world.act("update", { path: `${DOCS}/b.txt`, text: "two" });
    assert.notEqual((await world.theItem(source)).fingerprint.contentVersion, first.fingerprint.contentVersion);
    assert.equal(await fetchText(source, first), "two", "an old reference still finds the file, by its id");
  });

  it("reads odd names exactly as they are", async () => {
    const names = ["It's #1 & 100% + 😀.txt", "a%20b.txt", "M#Y;{x}~^=,.txt", "e\u0301 ü.txt", "O''Neil [1].txt"];
    for (const name of names) world.add(`Odd 'n #%+/${name}`, `text of ${name}`);
    for (const source of [world.open(), world.open({ urlPart: "/Shared Documents/Odd 'n #%+" })]) {
      const { sightings, completeness } = await listAll(source);
      assert.equal(completeness, "complete");
      assert.deepEqual(sightings.map((sighting) => sighting.name).toSorted(), names.toSorted());
      for (const sighting of sightings) {
        assert.equal(await fetchText(source, sighting), `text of ${sighting.name}`);
        assert.equal(decodeURIComponent(new URL(sighting.url).pathname), sighting.serverPath);
      }
    }
  });

  it("lists one folder of the library, whatever the case of its spelling", async () => {
    for (const path of ["Reports/a.txt", "Reports/Deep/b.txt", "Reports2/c.txt", "d.txt"]) world.add(path);
    const listed = await listAll(world.open({ urlPart: "/shared documents/REPORTS/" }));
    assert.equal(listed.completeness, "complete");
    assert.deepEqual(paths(listed.sightings), ["Deep/b.txt", "a.txt"]);
    await assert.rejects(listAll(world.open({ urlPart: "/Shared Documents/Nope" })), /has no folder .*Nope/);
  });

  it("lists a library of the root site", async () => {
    world.act("add-library", { path: "/Handbook" });
    world.act("add", { path: "/Handbook/One/a.txt", text: "hello" });
    const source = openSharePointLibrary(sourceConfig(`${world.sandbox.url}/`, "Handbook"), world.connect());
    const sighting = await world.theItem(source);
    assert.equal(sighting.path, "One/a.txt");
    assert.equal(sighting.serverPath, "/Handbook/One/a.txt");
    assert.equal(await fetchText(source, sighting), "hello");
  });

  it("sends the filter along, and folders still are no items", async () => {
    for (const path of ["A/keep-1.txt", "A/drop.txt", "keep-folder/x.txt"]) world.add(path);
    const listed = await listAll(world.open({ filter: "startswith(FileLeafRef,'keep')" }));
    assert.equal(listed.completeness, "complete");
    assert.deepEqual(paths(listed.sightings), ["A/keep-1.txt"]);
    await assert.rejects(listAll(world.open({ filter: "Nonsense eq 'x'" })), /Nonsense.*Check the filter/);
  });

  it("names what is not there", async () => {
    await assert.rejects(
      listAll(world.open({ urlPart: "/No Such Library" })),
      /there is no library at '\/sites\/demo\/No Such Library'/,
    );
    await assert.rejects(listAll(world.open({ urlPart: "/Shared%20Documents" })), /not as %20/);
    const config = sourceConfig(`${world.sandbox.url}/sites/nowhere`);
    await assert.rejects(
      listAll(openSharePointLibrary(config, world.connect())),
      /sites\/nowhere: .*404.*Check 'site_url'/,
    );
    const foreign = sourceConfig("https://fabrikam.sharepoint.com/sites/demo");
    await assert.rejects(listAll(openSharePointLibrary(foreign, world.connect())), /AADSTS500011.*Check the host name/);
  });

  it("sees what happens to the library meanwhile", async () => {
    for (let i = 0; i < 4; i += 1) world.add(`file-${i}.txt`);
    world.strike({ url: "skiptoken" }, { run: [{ operation: "delete", path: `${DOCS}/file-3.txt` }] });
    const deleted = await listAll(world.open({ pageSize: 2 }));
    assert.equal(deleted.completeness, "complete");
    assert.deepEqual(paths(deleted.sightings), ["file-0.txt", "file-1.txt", "file-2.txt"]);
  });
});
