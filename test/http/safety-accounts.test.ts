// Without keys, only the account that runs the server is let in.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { type OpenServer, openServer } from "./open-server.ts";

/** An account that exists everywhere and is neither ours nor root. */
const NOBODY = 65_534;
const BASH = "/bin/bash";
const CANNOT =
  process.platform !== "linux"
    ? "whose a connection is, is only checked on Linux"
    : process.getuid?.() !== 0
      ? "only root can start a program as another account"
      : !existsSync(BASH) && "bash is not there to speak for another account";

/** What another account of this machine is answered. bash, because a checkout need not be readable by others. */
async function askAs(
  uid: number,
  url: string,
  request: readonly string[],
  { body = "", leave = false }: { readonly body?: string; readonly leave?: boolean } = {},
): Promise<string> {
  const { hostname, port, host } = new URL(url);
  const address = hostname.replace(/^\[|\]$/g, "");
  const about = body === "" ? [] : ["Content-Type: application/json", `Content-Length: ${body.length}`];
  const lines = [...request, `Host: ${host}`, "Connection: close", ...about, "", body].join("\\r\\n");
  const script = `exec 3<>/dev/tcp/${address}/${port}; printf '${lines}' >&3; ${leave ? "exec 3>&-" : "cat <&3"}`;
  const child = spawn(BASH, ["--norc", "-c", script], {
    uid,
    gid: uid,
    cwd: "/",
    env: {},
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(err, "");
  return out;
}

describe("while there are no keys", { skip: CANNOT }, () => {
  let server: OpenServer;
  before(async () => {
    server = await openServer();
  });
  after(() => server.close());

  it("another account of the machine is refused, and told the ways out", async () => {
    for (const line of [
      "GET /v2/domains?format=json HTTP/1.1",
      "GET /query2?query=x HTTP/1.1",
      "GET /openai/v1/files HTTP/1.1",
    ]) {
      const answer = await askAs(NOBODY, server.url, [line]);
      assert.match(answer, /^HTTP\/1\.1 403 /, line);
      assert.match(answer, /lockstep keys add NAME --role admin/);
      assert.match(answer, /ALLOW_UNAUTHENTICATED_NETWORK_ACCESS=true/);
    }
    const page = await askAs(NOBODY, server.url, ["GET /sign-in HTTP/1.1", "Accept: text/html"]);
    assert.match(page, /another account/);
    assert.doesNotMatch(await askAs(NOBODY, server.url, ["GET /health HTTP/1.1"]), /backend/);
  });

  it("the account that runs the server comes in", async () => {
    assert.equal((await fetch(`${server.url}/v2/domains?format=json`)).status, 200);
    assert.match(await askAs(0, server.url, ["GET /v2/domains?format=json HTTP/1.1"]), /^HTTP\/1\.1 200 /);
    // As programs do that know only version 6.
    const { port } = new URL(server.url);
    const socket = connect({ host: "::ffff:127.0.0.1", port: Number(port) });
    socket.write(`GET /v2/domains?format=json HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`);
    assert.match(await text(socket), /^HTTP\/1\.1 200 /);
  });

  it("another account makes itself no admin, not even when it leaves before its request is heard", async () => {
    const body = '{"name":"mine","role":"admin"}';
    const request = ["POST /v2/keys/create HTTP/1.1"];
    for (let attempt = 0; attempt < 10; attempt++) await askAs(NOBODY, server.url, request, { body, leave: true });
    assert.match(await askAs(NOBODY, server.url, request, { body }), /^HTTP\/1\.1 403 /);
    assert.deepEqual(await server.app.access.keys.list(), []);
    assert.equal(await server.app.access.isRequired(), false);
  });

  it("everybody comes in where that is wanted in so many words, and with a key where there is one", async () => {
    const open = await openServer({ ALLOW_UNAUTHENTICATED_NETWORK_ACCESS: "true" });
    try {
      const asks = ["GET /v2/domains?format=json HTTP/1.1"];
      assert.match(await askAs(NOBODY, open.url, asks), /^HTTP\/1\.1 200 /);
    } finally {
      await open.close();
    }
    const keyed = await openServer();
    try {
      const { key } = await keyed.app.access.keys.create({ name: "ada", role: "admin", expiresAt: "" });
      const asks = ["GET /v2/domains?format=json HTTP/1.1", `Authorization: Bearer ${key}`];
      assert.match(await askAs(NOBODY, keyed.url, asks), /^HTTP\/1\.1 200 /);
    } finally {
      await keyed.close();
    }
  });
});
