// Random faults are the same for the same seed, in whatever order requests come.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { fillFolder } from "../../src/sandbox/sharepoint/tenant/fill-folder.ts";
import { apiOf, control, type JsonObject, jsonOf, requestToken, rowsOf, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const root = "/sites/demo/Shared Documents";
const list = "/sites/demo/_api/web/lists/getByTitle('Documents')";
const items = `${list}/items?$select=Id,FileRef&$top=5`;

beforeEach(() => sandbox.state.reset());

async function plan(match: unknown, effect: unknown): Promise<JsonObject> {
  const { status, body } = await control(sandbox, "POST", "faults", { match, effect });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function statusOf(path: string): Promise<number> {
  const response = await api(path);
  await response.arrayBuffer();
  return response.status;
}

/** The nth answer of each address, asked in the given order. */
async function historyOf(addresses: readonly string[]): Promise<Map<string, number[]>> {
  const history = new Map<string, number[]>();
  for (const address of addresses) history.set(address, [...(history.get(address) ?? []), await statusOf(address)]);
  return history;
}

async function allPages(first: string): Promise<unknown[][]> {
  const pages: unknown[][] = [];
  for (let next: string | undefined = first; next !== undefined; ) {
    const page: JsonObject = await jsonOf(await api(next));
    pages.push((page["value"] as JsonObject[]).map((row) => row["Id"]));
    next = page["odata.nextLink"] as string | undefined;
  }
  return pages;
}

describe("a share of the requests", () => {
  const addresses = Array.from({ length: 60 }, (_, number) => `/sites/demo/_api/web?$select=Id&n=${number}`);
  const twice = [...addresses, ...addresses];

  test("about that many, the same ones in whatever order they come, others with another seed", async () => {
    await plan({ url: "_api", share: 0.2, seed: 42 }, { status: 503 });
    const first = await historyOf(twice);
    const struck = [...first.values()].flat().filter((status) => status === 503).length;
    assert.ok(struck > 8 && struck < 45, `struck ${struck} of 120`);
    assert.ok(
      [...first.values()].some(([one, two]) => one === 503 && two === 200),
      "asking again may help",
    );

    await control(sandbox, "DELETE", "faults");
    await plan({ url: "_api", share: 0.2, seed: 42 }, { status: 503 });
    const backwards = await historyOf(twice.toReversed());
    for (const [address, statuses] of first) assert.deepEqual(backwards.get(address), statuses);

    await control(sandbox, "DELETE", "faults");
    await plan({ url: "_api", share: 0.2, seed: 43 }, { status: 503 });
    assert.notDeepEqual(await historyOf(twice), first);
  });

  test("all, none, and no more than so many", async () => {
    const fault = await plan({ share: 1, times: 2 }, { status: 503 });
    await plan({ share: 0 }, { status: 500 });
    assert.deepEqual([...(await historyOf(addresses.slice(0, 4))).values()].flat(), [503, 503, 200, 200]);
    const [listed] = (await control(sandbox, "GET", "faults")).body["faults"] as JsonObject[];
    assert.deepEqual([listed?.["id"], listed?.["seen"], listed?.["struck"]], [fault["id"], 4, 2]);
  });

  test("one of several effects, the same one for the same request", async () => {
    const oneOf = [{ status: 500 }, { status: 504 }, { status: 200, body: "<html></html>" }];
    await plan({ share: 1, seed: 7 }, { oneOf });
    const first = await historyOf(addresses);
    assert.deepEqual(new Set([...first.values()].flat()), new Set([500, 504, 200]));
    await control(sandbox, "DELETE", "faults");
    await plan({ share: 1, seed: 7 }, { oneOf });
    assert.deepEqual(await historyOf(addresses), first);
  });

  test("the random id in the address of a sign-in decides nothing", async () => {
    const histories: number[][] = [];
    for (const run of [1, 2]) {
      await control(sandbox, "DELETE", "faults");
      await plan({ url: "/token", share: 0.5, seed: 3 }, { status: 503, body: "{}" });
      const statuses: number[] = [];
      for (let number = 0; number < 12; number++) {
        const id = `client-request-id=${run}-${number}`;
        statuses.push((await fetch(`${sandbox.tokenEndpoint}?${id}`, { method: "POST" })).status);
      }
      histories.push(statuses);
    }
    assert.deepEqual(histories[0], histories[1]);
    assert.ok(histories[0]?.includes(503) && !histories[0].every((status) => status === 503));
    await control(sandbox, "DELETE", "faults");
    assert.equal((await requestToken(sandbox)).status, 200);
  });

  test("what makes no sense is refused with a sentence", async () => {
    const refused = async (match: unknown, effect: unknown) =>
      (await control(sandbox, "POST", "faults", { match, effect })).body["error"];
    assert.equal(await refused({ share: 1.5 }, { status: 500 }), "'share' is a part of the requests, from 0 to 1.");
    assert.match(String(await refused({ share: 0.5, nth: 2 }, { status: 500 })), /^'share' stands in place of/);
    assert.equal(await refused({}, { oneOf: [] }), "'oneOf' must be a list of effects.");
    assert.equal(await refused({}, { body: "<html>" }), "'body' needs a 'status' beside it, 200 too.");
    assert.equal(await refused({}, { repeatRow: 1 }), "'repeatRow' must be true or false.");
  });
});

describe("listings that lie", () => {
  beforeEach(() => fillFolder(sandbox.tenant, root, { count: 11 }));

  test("a row of the page before appears again", async () => {
    const honest = await allPages(items);
    assert.deepEqual(
      honest.map((page) => page.length),
      [5, 5, 2],
    );
    await plan({ url: "skiptoken" }, { repeatRow: true });
    const pages = await allPages(items);
    assert.deepEqual(pages[0], honest[0]);
    assert.deepEqual(pages[1], [honest[0]?.at(-1), ...(honest[1] ?? [])]);
    assert.deepEqual(pages[2], honest[2]);
  });

  test("a page silently lacks rows", async () => {
    const honest = await allPages(items);
    await plan({ url: "skiptoken" }, { dropRows: 2 });
    assert.deepEqual(await allPages(items), [honest[0], honest[1]?.slice(2), honest[2]]);
  });

  test("an empty listing with 200", async () => {
    await plan({ url: "/items" }, { emptyListing: true });
    assert.deepEqual(await allPages(items), [[]]);
    assert.equal((await allPages(items)).flat().length, 12);
  });

  test("a count that is wrong, in each dialect", async () => {
    await plan({ url: "getByTitle", times: 2 }, { itemCount: 4711 });
    assert.equal((await jsonOf(await api(`${list}?$select=ItemCount`)))["ItemCount"], 4711);
    const verbose = await api(`${list}?$select=ItemCount`, { Accept: "application/json;odata=verbose" });
    assert.equal(((await jsonOf(verbose))["d"] as JsonObject)["ItemCount"], 4711);
    assert.equal((await jsonOf(await api(`${list}?$select=ItemCount`)))["ItemCount"], 12);
  });

  test("something is added between two pages", async () => {
    const added = { operation: "add", path: `${root}/late.txt`, text: "late" };
    await plan({ url: "skiptoken" }, { run: [added] });
    assert.equal((await allPages(items)).flat().length, 13);
  });

  test("a token revoked between two pages", async () => {
    const own = await apiOf(sandbox);
    await plan({ url: "skiptoken" }, { run: [{ operation: "revoke-tokens" }] });
    const page = await jsonOf(await own(items));
    assert.equal((await own(String(page["odata.nextLink"]))).status, 401);
  });
});

test("Retry-After as seconds and as a date that lies ahead", async () => {
  await plan({}, { status: 429, retryAfter: 7 });
  await plan({}, { status: 503, retryAfter: 7, retryAfterForm: "date" });
  assert.equal((await api("/sites/demo/_api/web")).headers.get("retry-after"), "7");
  const asked = Date.now();
  const date = (await api("/sites/demo/_api/web")).headers.get("retry-after") ?? "";
  assert.match(date, /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  assert.ok(Date.parse(date) > asked + 5000);
});

test("the log counts requests whose User-Agent is not decorated", async () => {
  const own = await apiOf(sandbox);
  await control(sandbox, "DELETE", "log");
  await rowsOf(await own(items, { "User-Agent": "NONISV|Contoso|Crawler/1.0" }));
  await rowsOf(await own(items, { "User-Agent": "curl/8" }));
  while (sandbox.state.log.entries().length < 2) await new Promise(setImmediate);
  assert.equal((await control(sandbox, "GET", "log")).body["undecorated"], 1);
});
