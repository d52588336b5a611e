// Injected faults hit exactly the requests they are meant for.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { addFile } from "../../src/sandbox/sharepoint/tenant/file-operations.ts";
import { startSandbox } from "../../src/sandbox/start-sandbox.ts";
import { apiOf, control, type JsonObject, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const root = "/sites/demo/Shared Documents";
const content = Buffer.alloc(100_000, "lockstep ");
let value = "";

beforeEach(() => {
  sandbox.state.reset();
  const file = addFile(sandbox.tenant, `${root}/big.txt`, content);
  value = `/sites/demo/_api/web/GetFileById('${file.uniqueId}')/$value`;
});

async function plan(match: unknown, effect: unknown): Promise<JsonObject> {
  const { status, body } = await control(sandbox, "POST", "faults", { match, effect });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

async function statuses(count: number, path = "/sites/demo/_api/web"): Promise<number[]> {
  const seen: number[] = [];
  for (let number = 0; number < count; number++) {
    const response = await api(path);
    seen.push(response.status);
    await response.arrayBuffer();
  }
  return seen;
}

/** What arrived before the body broke off. */
async function readUntilBroken(response: Response): Promise<{ bytes: number; broke: boolean }> {
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) bytes += chunk.length;
    return { bytes, broke: false };
  } catch {
    return { bytes, broke: true };
  }
}

describe("which requests are struck", () => {
  test("once, the first one, unless told otherwise", async () => {
    await plan({}, { status: 503 });
    assert.deepEqual(await statuses(3), [503, 200, 200]);
  });

  test("the nth", async () => {
    await plan({ nth: 3 }, { status: 503 });
    assert.deepEqual(await statuses(4), [200, 200, 503, 200]);
  });

  test("several times, every other", async () => {
    await plan({ nth: 2, every: 2, times: 2 }, { status: 503 });
    assert.deepEqual(await statuses(7), [200, 503, 200, 503, 200, 200, 200]);
  });

  test("always, until it is cleared", async () => {
    const fault = await plan({ times: "always" }, { status: 503 });
    assert.deepEqual(await statuses(3), [503, 503, 503]);
    const listed = (await control(sandbox, "GET", "faults")).body["faults"] as JsonObject[];
    assert.deepEqual([listed[0]?.["seen"], listed[0]?.["struck"]], [3, 3]);
    await control(sandbox, "DELETE", `faults?id=${fault["id"]}`);
    assert.deepEqual(await statuses(1), [200]);
  });

  test("by address, as sent or decoded, and by method", async () => {
    await plan({ url: "getlist\\('/sites/demo/shared documents'\\)", method: "get", times: "always" }, { status: 503 });
    await plan({ method: "DELETE", times: "always" }, { status: 500 });
    const path = "/sites/demo/_api/web/GetList('%2Fsites%2Fdemo%2FShared%20Documents')";
    assert.deepEqual(await statuses(1, path), [503]);
    assert.deepEqual(await statuses(1), [200]);
  });

  test("the sign-in can be struck, too", async () => {
    await plan({ url: "/oauth2/v2.0/token$" }, { status: 503, body: "{}" });
    assert.equal((await fetch(sandbox.tokenEndpoint, { method: "POST" })).status, 503);
  });

  test("of two faults the first that is due strikes, and both count", async () => {
    await plan({}, { status: 503 });
    await plan({ nth: 2 }, { status: 502 });
    assert.deepEqual(await statuses(3), [503, 502, 200]);
  });
});

describe("what happens", () => {
  test("throttling: status, Retry-After and SharePoint's body", async () => {
    await plan({}, { status: 429, retryAfter: 31, headers: { "RateLimit-Limit": "1200", "RateLimit-Remaining": "0" } });
    const response = await api("/sites/demo/_api/web");
    assert.equal(response.status, 429);
    assert.equal(response.headers.get("retry-after"), "31");
    assert.equal(response.headers.get("ratelimit-remaining"), "0");
    const body = (await response.json()) as { "odata.error": { code: string } };
    assert.equal(body["odata.error"].code, "-2147429894, Microsoft.SharePoint.SPException");
  });

  test("Retry-After as a date", async () => {
    await plan({}, { status: 503, retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT", body: "429 TOO MANY REQUESTS" });
    const response = await api("/sites/demo/_api/web");
    assert.equal(response.headers.get("retry-after"), "Wed, 21 Oct 2026 07:28:00 GMT");
    assert.equal(await response.text(), "429 TOO MANY REQUESTS");
  });

  test("a page of HTML with status 200", async () => {
    await plan({}, { status: 200, body: "<html><body>Throttle</body></html>" });
    const response = await api("/sites/demo/_api/web");
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type") ?? "", /^text\/html/);
  });

  test("headers only: the real answer with something added", async () => {
    await plan({}, { headers: { "RateLimit-Remaining": "120" } });
    const response = await api("/sites/demo/_api/web");
    assert.equal(response.headers.get("ratelimit-remaining"), "120");
    assert.equal(((await response.json()) as JsonObject)["Title"], "Demo");
  });

  test("headers that do not come while the client waits", async () => {
    await plan({}, { delayMs: 600_000 });
    const controller = new AbortController();
    const waiting = fetch(`${sandbox.url}/sites/demo/_api/web`, { signal: controller.signal });
    while ((sandbox.state.faults.list()[0]?.struck ?? 0) === 0) await new Promise(setImmediate);
    controller.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    while (sandbox.state.log.entries().length === 0) await new Promise(setImmediate);
    assert.equal(sandbox.state.log.entries()[0]?.status, 0, "the delay ended with the client");
  });

  test("a short delay, then the real answer", async () => {
    await plan({}, { delayMs: 5 });
    assert.deepEqual(await statuses(1), [200]);
  });

  for (const connection of ["reset", "drop"] as const) {
    test(`the connection is ended without an answer: ${connection}`, async () => {
      await plan({}, { connection });
      await assert.rejects(api("/sites/demo/_api/web"), (error: Error) => {
        const { code } = error.cause as { code: string };
        return connection === "reset" ? code === "ECONNRESET" : ["UND_ERR_SOCKET", "ECONNRESET"].includes(code);
      });
      assert.deepEqual(await statuses(1), [200]);
    });
  }

  for (const ending of ["close", "reset"] as const) {
    test(`a body cut short breaks its promise: ${ending}`, async () => {
      await plan({ url: "\\$value" }, { truncateAfterBytes: 70_000, ending });
      const response = await api(value);
      assert.equal(response.headers.get("content-length"), "100000");
      const { bytes, broke } = await readUntilBroken(response);
      assert.equal(broke, true);
      assert.ok(bytes <= 70_000);
      if (ending === "close") assert.equal(bytes, 70_000);
    });
  }

  test("a body cut short that looks whole", async () => {
    await plan({ url: "\\$value" }, { truncateAfterBytes: 70_000, ending: "clean" });
    const response = await api(value);
    assert.equal(response.headers.get("content-length"), null);
    assert.deepEqual(await readUntilBroken(response), { bytes: 70_000, broke: false });
  });

  test("cut beyond the end: nothing happens", async () => {
    await plan({ url: "\\$value" }, { truncateAfterBytes: 200_000 });
    assert.deepEqual(await readUntilBroken(await api(value)), { bytes: 100_000, broke: false });
  });

  test("a body that stalls until the client gives up", async () => {
    await plan({ url: "\\$value" }, { stallAfterBytes: 1000 });
    const response = await api(value);
    const reader = response.body?.getReader();
    let bytes = 0;
    while (bytes < 1000) bytes += (await reader?.read())?.value?.length ?? 0;
    assert.equal(bytes, 1000);
    const next = reader?.read();
    const first = await Promise.race([next, new Promise((resolve) => setImmediate(() => resolve("nothing yet")))]);
    assert.equal(first, "nothing yet");
    await reader?.cancel();
  });

  test("a deletion between listing and download", async () => {
    await plan({ url: "\\$value" }, { run: [{ operation: "delete", path: `${root}/big.txt` }] });
    assert.equal((await api(value)).status, 404);
    assert.equal(sandbox.tenant.itemAt(`${root}/big.txt`), undefined);
  });

  test("a token revoked in the middle", async () => {
    const own = await apiOf(sandbox);
    await plan({ url: "_api", nth: 2 }, { run: [{ operation: "revoke-tokens" }] });
    assert.deepEqual([(await own(value)).status, (await own(value)).status], [200, 401]);
  });

  test("the log names the fault and what was really sent", async () => {
    const api2 = await apiOf(sandbox);
    const cut = await plan({ url: "\\$value" }, { truncateAfterBytes: 10 });
    await readUntilBroken(await api2(value));
    const reset = await plan({}, { connection: "reset" });
    await assert.rejects(api2(value));
    while (sandbox.state.log.entries().filter((entry) => entry.fault !== null).length < 2)
      await new Promise(setImmediate);
    assert.deepEqual(
      sandbox.state.log
        .entries()
        .slice(-2)
        .map(({ status, bytes, fault }) => ({ status, bytes, fault })),
      [
        { status: 200, bytes: 10, fault: cut["id"] },
        { status: 0, bytes: 0, fault: reset["id"] },
      ],
    );
  });
});

test("stopping does not wait for what is delayed or stalled", async () => {
  const short = await startSandbox({ seed: "empty" });
  short.state.faults.add({ url: "slow" }, { delayMs: 600_000 });
  short.state.faults.add({ url: "stalled" }, { status: 200, body: "abcdef", stallAfterBytes: 1 });
  const slow = assert.rejects(fetch(`${short.url}/slow`));
  const stalled = await fetch(`${short.url}/stalled`);
  while (short.state.faults.list().some((fault) => fault.struck === 0)) await new Promise(setImmediate);
  await short.stop();
  await slow;
  assert.equal((await readUntilBroken(stalled)).broke, true);
});
