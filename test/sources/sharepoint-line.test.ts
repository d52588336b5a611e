// Sign-in and requests get over a SharePoint that is hard to reach.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { CancelledError, RemoteError } from "../../src/contracts/errors.ts";
import { openSharePointLibrary } from "../../src/sources/sharepoint/open-sharepoint-library.ts";
import { fetchText, itemRefOf, listAll, readAll, sendJson, sourceConfig } from "./scripted-tenant.ts";
import { useScriptedTenant } from "./scripted-world.ts";

const SIGNAL = new AbortController().signal;

describe("a SharePoint that is hard to reach", () => {
  const world = useScriptedTenant();

  it("gives no token with its success", async () => {
    const source = await world.open(
      (_, response, url) => url.pathname.endsWith("/token") && sendJson(response, 503, {}),
    );
    await assert.rejects(listAll(source), (error: Error) => {
      assert.ok(error instanceof RemoteError);
      assert.match(error.message, /sign in to tenant tenant as app client: the sign-in server answered 503/);
      return true;
    });
    assert.ok(world.tenant.requests.every((path) => path.includes("/token")));
  });

  it("is busy when we sign in, and then is not", async () => {
    let asked = 0;
    const waits: string[] = [];
    const source = await world.open(
      (_, response, url) => {
        if (!url.pathname.endsWith("/token")) return false;
        asked += 1;
        if (asked === 1) return sendJson(response, 429, {}, { "retry-after": "0" });
        if (asked === 2) response.end("<html>");
        return asked === 2;
      },
      { onWait: (reason) => waits.push(reason) },
    );
    assert.equal((await listAll(source)).completeness, "complete");
    assert.equal(asked, 3);
    assert.match(waits.join(), /without valid JSON/);
  });

  it("signs in once for all who ask at the same time", async () => {
    const source = await world.open((_, response, url) => {
      if (!url.pathname.includes("$value")) return false;
      response.writeHead(200, { "content-length": "5" }).end("hello");
      return true;
    });
    const texts = await Promise.all([1, 2, 3, 4, 5].map((id) => fetchText(source, itemRefOf(id))));
    assert.deepEqual(
      texts,
      Array.from({ length: 5 }, () => "hello"),
    );
    assert.equal(world.tenant.requests.filter((path) => path.includes("/token")).length, 1);
  });

  it("says 404 for everything without a word of its own: that is not 'gone'", async () => {
    const source = await world.open((_, response, url) => {
      if (!url.pathname.includes("_api")) return false;
      response.writeHead(404, { "content-type": "text/html" }).end("<html>404 FILE NOT FOUND</html>");
      return true;
    });
    await assert.rejects(source.fetch(itemRefOf(1), SIGNAL), /download 'a.txt': SharePoint answered 404/);
    await assert.rejects(listAll(source), /SharePoint answered 404. Check 'site_url'/);
  });

  it("refuses or locks a file", async () => {
    for (const [status, expected] of [
      [403, /access denied/],
      [423, /locked/],
    ] as const) {
      const source = await world.open(
        (_, response, url) => url.pathname.includes("$value") && sendJson(response, status, {}),
      );
      const fetched = await source.fetch(itemRefOf(1), SIGNAL);
      assert.ok(fetched.status === "refused");
      assert.match(fetched.reason, expected);
    }
  });

  it("does not say how long a file is and hangs up", async () => {
    const source = await world.open((request, response, url) => {
      if (!url.pathname.includes("$value")) return false;
      request.socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhel");
      response.destroy();
      return true;
    });
    await assert.rejects(fetchText(source, itemRefOf(1)), /download 'a.txt'/);
  });

  it("cuts a chunked file", async () => {
    const source = await world.open((request, _, url) => {
      if (!url.pathname.includes("$value")) return false;
      request.socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n");
      return true;
    });
    await assert.rejects(fetchText(source, itemRefOf(1)), /broke off after 3 bytes/);
  });

  it("gets its place back from a download nobody reads", async () => {
    const source = await world.open(
      (_, response, url) => {
        if (!url.pathname.includes("$value")) return false;
        response.writeHead(200, { "content-length": "5" }).end("hello");
        return true;
      },
      { idleMs: 100 },
    );
    const unread = await Promise.all([1, 2, 3, 4].map((id) => source.fetch(itemRefOf(id), SIGNAL)));
    assert.equal(await fetchText(source, itemRefOf(5)), "hello");
    const [first] = unread;
    assert.ok(first?.status === "fetched");
    await assert.rejects(readAll(first.body), /download 'a.txt': broke off/);
  });

  it("does not answer at all", async () => {
    const source = await world.open(() => false);
    await world.tenant.close();
    await assert.rejects(listAll(source), /reach 127\.0\.0\.1:\d+: connection refused/);
  });

  it("is reached through the proxy of the environment, and this machine without it", async () => {
    const asked: string[] = [];
    const proxy = createServer().on("connect", (request, socket) => {
      asked.push(request.url ?? "");
      socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const saved = { ...process.env };
    process.env["https_proxy"] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    process.env["http_proxy"] = process.env["https_proxy"];
    try {
      assert.equal((await listAll(await world.open(() => false))).completeness, "complete");
      const remote = openSharePointLibrary(sourceConfig("https://contoso.sharepoint.com/sites/demo"), world.connection);
      await assert.rejects(listAll(remote), RemoteError);
      assert.deepEqual([...new Set(asked)], ["contoso.sharepoint.com:443"]);
    } finally {
      process.env = saved;
      proxy.close();
      proxy.closeAllConnections();
    }
  });

  it("keeps us waiting: cancelling ends the wait", async () => {
    const stop = new AbortController();
    const source = await world.open(
      (_, response, url) => url.pathname.endsWith("/_api/web") && sendJson(response, 429, {}, { "retry-after": "600" }),
      { onWait: () => stop.abort(new CancelledError("enough")) },
    );
    await assert.rejects(listAll(source, stop.signal), (error: Error) => error instanceof CancelledError);
  });

  it("asks for more patience than there is", async () => {
    const source = await world.open(
      (_, response, url) =>
        url.pathname.endsWith("/_api/web") && sendJson(response, 429, {}, { "retry-after": "7200" }),
    );
    await assert.rejects(listAll(source), /list '\/Shared Documents' of .*: SharePoint answered 429/);
  });
});
