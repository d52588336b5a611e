// Only public addresses are connected to, in whatever notation they come.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { isIPv6, type LookupFunction } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import type { WebClient } from "../../src/contracts/web.ts";
import { isPublicAddress } from "../../src/sources/web/http-transport.ts";
import { asResponse, closeOpened, get, listenOn, openClient, startSite, type TestSite } from "./web-client-world.ts";

after(closeOpened);

/** Hosts of this machine, however they are written. */
const HERE = [
  "127.0.0.1",
  "127.1",
  "2130706433",
  "0x7f.1",
  "0x7f000001",
  "0177.0.0.1",
  "017700000001",
  "127.0.0.1.",
  "127.000.000.001",
  "%31%32%37.0.0.1",
  "１２７。０。０。１",
  "127.8.9.10",
  "0.0.0.0",
  "0",
  "[::1]",
  "[::]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[0:0:0:0:0:ffff:127.0.0.1]",
  "[::127.0.0.1]",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "any.localhost",
  "user:secret@127.0.0.1",
];

/** Addresses that a name may turn out to have. */
const INNER = [
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "100.64.0.1",
  "100.100.100.200",
  "168.63.129.16",
  "169.254.169.254",
  "169.254.170.2",
  "192.0.0.192",
  "192.0.2.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "0.1.2.3",
  "::1",
  "::",
  "::ffff:10.0.0.1",
  "::10.0.0.1",
  "::ffff:0:10.0.0.1",
  "64:ff9b::10.0.0.1",
  "64:ff9b::a9fe:a9fe",
  "64:ff9b:1::8.8.8.8",
  "2002:7f00:1::",
  "2002:a9fe:a9fe::1",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2",
  "2001:db8::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fe80::1%lo",
  "fec0::1",
  "ff02::1",
  "100::1",
  "4000::1",
];

const PUBLIC = ["8.8.8.8", "93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"];
const PUBLIC_INSIDE = ["64:ff9b::8.8.8.8", "2002:808:808::1"];

let site: TestSite;
before(async () => {
  site = await startSite((_request, response) => response.end("reached"));
});

function lookupOf(addresses: Readonly<Record<string, readonly string[]>>): LookupFunction {
  return (hostname, { all }, callback) => {
    const found = (addresses[hostname] ?? []).map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
    const [first] = found;
    if (!first) callback(Object.assign(new Error("not found"), { code: "ENOTFOUND" }), []);
    else if (all) callback(null, found);
    else callback(null, first.address, first.family);
  };
}

describe("only public addresses are asked", () => {
  it("no notation of this machine is one", async () => {
    const client = openClient({ allowPrivateNetworks: false });
    for (const host of HERE) {
      const answer = await client.send(get(`http://${host}:${site.port}/?token=geheim`));
      assert.equal(answer.kind === "refused" && answer.why, "address", host);
      assert.ok(
        answer.kind === "refused" && !/secret|geheim/.test(answer.reason),
        "what may be secret is not repeated",
      );
    }
    assert.deepEqual(site.asked, []);
  });

  it("the same notations lead there when private networks are allowed", async () => {
    const client = openClient();
    for (const host of HERE.slice(0, 11)) {
      asResponse(await client.send(get(`http://${host}:${site.port}/`)));
    }
    assert.equal(site.asked.filter((path) => path === "/").length, 11);
    site.asked.length = 0;
  });

  it("a name is refused for any inner address it has, whichever comes first", async () => {
    const rows = INNER.flatMap((address, i) => [
      [`only-${i}.example`, [address]] as const,
      [`last-${i}.example`, ["93.184.215.14", address]] as const,
      [`first-${i}.example`, [address, "93.184.215.14"]] as const,
    ]);
    const client = openClient({ allowPrivateNetworks: false, lookup: lookupOf(Object.fromEntries(rows)) });
    for (const [host, addresses] of rows) {
      const answer = await client.send(get(`http://${host}/`));
      assert.equal(answer.kind === "refused" && answer.why, "address", `${host} has ${addresses}`);
    }
  });

  it("a connection looks its host up once: what is judged is what is connected to", async () => {
    const asked: string[] = [];
    const answers = lookupOf({ "site.example": ["127.0.0.1"] });
    const lookup: LookupFunction = (hostname, options, callback) => {
      asked.push(hostname);
      answers(hostname, options, callback);
    };
    const before = site.connections();
    asResponse(await openClient({ lookup }).send(get(`http://site.example:${site.port}/`)));
    assert.deepEqual(site.asked, ["/robots.txt", "/"]);
    assert.equal(asked.length, site.connections() - before);
  });

  it("a name that has no address is not there now, and nothing is known of it", async () => {
    const answer = await openClient({ allowPrivateNetworks: false, lookup: lookupOf({}) }).send(
      get("http://a.example/"),
    );
    assert.equal(answer.kind, "unavailable");
    assert.match(answer.kind === "unavailable" ? answer.reason : "", /no such host/);
  });

  it("what everybody can reach is public, also inside an address of another kind", () => {
    for (const address of [...PUBLIC, ...PUBLIC_INSIDE]) assert.ok(isPublicAddress(address), address);
    assert.ok(!isPublicAddress("no address"));
  });

  it("other schemes are refused", async () => {
    for (const url of ["file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "/path", "http://", ""]) {
      const answer = await openClient().send(get(url));
      assert.equal(answer.kind === "refused" && answer.why, "address", url);
    }
  });
});

describe("through the proxy of the environment", () => {
  const asked: string[] = [];
  const proxy = createServer(({ url = "" }, response) => {
    asked.push(url);
    if (url === "http://sly.example/robots.txt") response.writeHead(302, { location: "http://169.254.169.254/" }).end();
    else response.writeHead(url.endsWith("/robots.txt") ? 404 : 200).end("from afar");
  });
  proxy.on("connect", ({ url = "" }, socket) => {
    asked.push(url);
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  const names = { "outside.example": ["93.184.215.14"], "sly.example": ["8.8.8.8"], "inner.example": ["10.0.0.1"] };
  let client: WebClient;

  before(async () => {
    const { origin } = await listenOn(proxy);
    process.env["HTTP_PROXY"] = origin;
    process.env["HTTPS_PROXY"] = origin;
    client = openClient({ allowPrivateNetworks: false, lookup: lookupOf(names) });
    delete process.env["HTTP_PROXY"];
    delete process.env["HTTPS_PROXY"];
  });
  beforeEach(() => {
    asked.length = 0;
  });

  it("public hosts are asked there", async () => {
    const response = asResponse(await client.send(get("http://outside.example/page")));
    assert.equal(Buffer.from(await response.body()).toString(), "from afar");
    assert.deepEqual(asked, ["http://outside.example/robots.txt", "http://outside.example/page"]);
  });

  it("so are public addresses without a name, which nobody looks up", async () => {
    for (const host of ["93.184.215.14", "[2606:4700:4700::1111]"]) {
      asResponse(await client.send(get(`http://${host}/page`)));
      assert.equal(asked.at(-1), `http://${host}/page`);
    }
  });

  it("secure ones by a tunnel; one that fails is not there now", async () => {
    const answer = await client.send(get("https://outside.example/page"));
    assert.equal(answer.kind, "unavailable");
    assert.equal(asked[0], "outside.example:443");
  });

  it("inner addresses are refused before the proxy hears of them", async () => {
    for (const host of ["inner.example", "169.254.169.254", "[::ffff:10.0.0.1]", "localhost", "2130706433"]) {
      const answer = await client.send(get(`http://${host}/`));
      assert.equal(answer.kind === "refused" && answer.why, "address", host);
    }
    assert.deepEqual(asked, []);
  });

  it("a name that cannot be looked up here is not handed on unchecked", async () => {
    const answer = await client.send(get("http://unknown.example/"));
    assert.match(
      answer.kind === "unavailable" ? answer.reason : "",
      /WEB_ALLOW_PRIVATE_NETWORKS=true leaves the check/,
    );
    assert.deepEqual(asked, []);
  });

  it("a robots.txt that leads to an inner address is not followed there", async () => {
    const answer = await client.send(get("http://sly.example/"));
    assert.equal(answer.kind, "unavailable", "the page itself has done nothing wrong");
    assert.deepEqual(asked, ["http://sly.example/robots.txt"]);
  });
});
