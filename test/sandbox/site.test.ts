// The simulated web site is what it says it is, and the same for the same seed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { siteQuestion } from "../../src/sandbox/seed/demo.ts";
import { type SandboxSite, startCompanySite, startSite } from "../../src/sandbox/site/start-site.ts";

let sandbox: SandboxSite;
before(async () => {
  sandbox = await startSite({ pages: 120, seed: 7 });
});
after(() => sandbox.close());

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(sandbox.origin + path, { headers, redirect: "manual" });

async function control(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${sandbox.origin}/_site/${path}`, {
    method,
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, ...((await response.json()) as object) };
}

/** Follows links of the tree, as a reader would. */
async function follow(origin: string): Promise<string[]> {
  const seen = new Set(["/"]);
  const found: string[] = [];
  for (const path of seen) {
    const response = await fetch(origin + path);
    const html = await response.text();
    if (!response.ok) continue;
    found.push(`${path} ${/part number is (\w+)/.exec(html)?.[1]}`);
    for (const [, href = ""] of html.matchAll(/href="([^"]+)"/g)) {
      const { pathname } = new URL(href, origin + path);
      if (pathname === "/" || pathname.startsWith("/docs/")) seen.add(pathname);
    }
  }
  return found.sort();
}

const known = (site: SandboxSite): string[] =>
  [...site.site.reachable()].map(({ path, word }) => `${path} ${word}`).sort();

test("what the site says is reachable is what its links lead to, also after changes", async () => {
  const plain = await startSite({ pages: 150, seed: 3, sections: [] });
  try {
    assert.equal(known(plain).length, 150);
    assert.deepEqual(await follow(plain.origin), known(plain));
    const { site } = plain;
    for (const number of [1, 23, 77]) site.delete(site.pathOf(number), 410);
    for (const number of [2, 140]) site.unlink(site.pathOf(number));
    site.edit(site.pathOf(5));
    const changed = known(plain);
    assert.ok(changed.length < 146 && changed.includes(`${site.pathOf(5)} yak5edition1`), String(changed.length));
    assert.deepEqual(await follow(plain.origin), changed);
  } finally {
    await plain.close();
  }
});

test("the same seed is the same site; another one is another", async () => {
  const [same, other] = await Promise.all([startSite({ pages: 120, seed: 7 }), startSite({ pages: 120, seed: 8 })]);
  const page = async ({ origin, site }: SandboxSite): Promise<string> =>
    await (await fetch(origin + site.pathOf(50))).text();
  const [here, there, elsewhere] = [await page(sandbox), await page(same), await page(other)];
  await Promise.all([same.close(), other.close()]);
  assert.equal(there, here);
  assert.notEqual(elsewhere, here);
});

test("every page that has to be found is there and has its word", async () => {
  const wrong: string[] = [];
  for (const { path, word } of sandbox.site.reachable()) {
    if (/^\/(charsets|files|docs)\b/.test(path)) continue;
    // The first answer of an unsteady page goes wrong.
    if (path.startsWith("/unsteady")) await (await get(path).catch(() => undefined))?.text().catch(() => undefined);
    const response = await get(path);
    const text = await response.text();
    if (!response.ok || !new RegExp(`\\b${word}\\b`).test(text)) wrong.push(`${path}: ${response.status}`);
  }
  assert.deepEqual(wrong, []);
});

const conditions: [kind: string, second: number, afterEdit: number][] = [
  ["both", 304, 200],
  ["etag", 304, 200],
  ["date", 304, 200],
  ["none", 200, 200],
  ["deaf", 200, 200],
  ["restless", 200, 200],
  ["stuck", 304, 304],
];
for (const [kind, second, afterEdit] of conditions) {
  test(`validators '${kind}': asked again ${second}, after an edit ${afterEdit}`, async () => {
    const path = `/validators/${kind}`;
    const first = await get(path);
    await first.text();
    const known = {
      ...(first.headers.get("etag") && { "if-none-match": first.headers.get("etag") ?? "" }),
      ...(first.headers.get("last-modified") && { "if-modified-since": first.headers.get("last-modified") ?? "" }),
    };
    assert.equal((await get(path, known)).status, second);
    await control("POST", "edit", { path });
    assert.equal((await get(path, known)).status, afterEdit);
  });
}

test("what is asked and sent is counted by path, on each host for itself", async () => {
  await control("DELETE", "counts");
  const path = sandbox.site.pathOf(9);
  const body = await (await get(path)).text();
  await fetch(sandbox.origin + path, { method: "HEAD" });
  await (await fetch(sandbox.origin.replace("127.0.0.1", "localhost") + path)).text();
  const counts = (await control("GET", "counts")) as Record<string, unknown>;
  assert.deepEqual(counts[path], { requests: 2, bodies: 1, bodyBytes: Buffer.byteLength(body), notModified: 0 });
  assert.equal(Object.keys(counts).filter((key) => key.endsWith(path)).length, 2);
});

test("the host fails as told, so often as told", async () => {
  const path = sandbox.site.pathOf(11);
  await control("POST", "fail", { path, status: 503, retryAfterSeconds: 3, times: 2 });
  const failed = await get(path);
  assert.deepEqual([failed.status, failed.headers.get("retry-after")], [503, "3"]);
  assert.equal((await get(path)).status, 503);
  assert.equal((await get(path)).status, 200);
  for (const how of ["cut", "reset"]) {
    await control("POST", "fail", { path, how, times: 1 });
    await assert.rejects(async () => await (await get(path)).text());
  }
  await control("POST", "fail", { path: "/", status: 500 });
  assert.equal((await get("/robots.txt")).status, 500);
  await control("DELETE", "failures");
  assert.equal((await get("/robots.txt")).status, 200);
});

test("sections come and go, and what is wrong is refused with a sentence", async () => {
  const one = await startSite({ pages: 5, sections: ["calendar"] });
  const months = (maxDepth: number): number =>
    [...one.site.reachable({ maxDepth })].filter(({ path }) => path.startsWith("/calendar")).length;
  assert.deepEqual([months(1), months(4), months(10)], [1, 7, 19]);
  one.site.switchSections(["copies"], ["calendar"]);
  assert.deepEqual(one.site.sections(), ["copies"]);
  assert.equal((await fetch(`${one.origin}/calendar/2026/01`)).status, 404);
  await one.close();
  const refusals: [method: string, path: string, body: object, status: number, error: RegExp][] = [
    ["POST", "edit", { path: "docs" }, 400, /begin with a slash/],
    ["POST", "fail", { path: "/", how: "softly" }, 400, /one of status, cut, reset, stall/],
    ["POST", "sections", { on: ["nonsense"] }, 400, /There is no section 'nonsense'/],
    ["POST", "explode", {}, 404, /no POST/],
  ];
  for (const [method, path, body, status, error] of refusals) {
    const answer = await control(method, path, body);
    assert.equal(answer["status"], status);
    assert.match(String(answer["error"]), error);
  }
});

test("the help centre of the company: its pages link to each other, one moved, one has a picture, one has the answer", async () => {
  const { origin, site, close } = await startCompanySite();
  const text = async (path: string): Promise<string> => (await fetch(origin + path)).text();
  try {
    const front = await text("/");
    const linked = [...front.matchAll(/href="([^"]+)"/g)].map(([, href = ""]) => href);
    const arrived = await Promise.all(linked.map(async (path) => new URL((await fetch(origin + path)).url).pathname));
    assert.deepEqual(arrived.sort(), [...site.reachable()].map(({ path }) => path).sort());
    const picture = /<img src="([^"]+)"/.exec(await text("/winter"))?.[1] ?? "";
    const bytes = await (await fetch(origin + picture)).arrayBuffer();
    assert.ok(bytes.byteLength > 5000, `${picture}: ${bytes.byteLength}`);
    assert.match(await text(siteQuestion.expectedPath), /Hold the button below the display for eight seconds/);
    site.edit("/trial", "Now also in <Ghent>.");
    assert.match(await text("/trial"), /Now also in &lt;Ghent&gt;\./);
  } finally {
    await close();
  }
});
