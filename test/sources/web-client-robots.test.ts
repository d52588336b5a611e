// robots.txt is fetched, read and obeyed.
import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { WebResult } from "../../src/contracts/web.ts";
import { createRobotsCache, parseRobots } from "../../src/sources/web/robots.ts";
import { asResponse, closeOpened, forever, get, openClient, startSite } from "./web-client-world.ts";

after(closeOpened);

const utf8 = (text: string): Uint8Array => Buffer.from(text, "utf8");

/** What is asked of whom, a path, and whether it may be visited. */
const CASES: readonly (readonly [title: string, robots: string | Uint8Array, path: string, isAllowed: boolean])[] = [
  ["nothing is forbidden", "", "/a", true],
  ["everything is", "User-agent: *\nDisallow: /", "/a", false],
  ["an empty rule forbids nothing", "User-agent: *\nDisallow:", "/a", true],
  ["robots.txt itself may always be read", "User-agent: *\nDisallow: /", "/robots.txt", true],
  ["a beginning", "User-agent: *\nDisallow: /private", "/private-matters", false],
  ["not a beginning", "User-agent: *\nDisallow: /private", "/my/private", true],
  ["capitals count in paths", "User-agent: *\nDisallow: /Private", "/private", true],
  ["but not in names", "USER-AGENT: LockStep\nDISALLOW: /a", "/a", false],
  ["space around everything, and comments", "  User-agent :  lockstep  # us\n\tDisallow: /a # not this\n", "/a", false],
  ["a comment is no rule", "User-agent: *\n# Disallow: /\n", "/a", true],
  ["old line ends", "User-agent: *\rDisallow: /a\r", "/a", false],
  ["Windows line ends", "User-agent: *\r\nDisallow: /a\r\n", "/a", false],
  ["a byte order mark", "\ufeffUser-agent: *\nDisallow: /a", "/a", false],
  ["UTF-16", Buffer.from("\ufeffUser-agent: *\nDisallow: /ä", "utf16le"), "/%C3%A4", false],
  ["Latin-1", Buffer.from("User-agent: *\nDisallow: /ä", "latin1"), "/%e4", false],
  ["our own group alone counts", "User-agent: *\nDisallow: /\n\nUser-agent: lockstep\nDisallow: /b", "/a", true],
  [
    "even if it is empty",
    "User-agent: lockstep\n\nUser-agent: other\nAllow: /\n\nUser-agent: *\nDisallow: /",
    "/a",
    true,
  ],
  ["an empty rule ends its group", "User-agent: lockstep\nDisallow:\n\nUser-agent: *\nDisallow: /", "/a", true],
  ["a name that is missing is nobody's", "User-agent: lockstep\nAllow: /\nUser-agent:\nDisallow: /a", "/a", true],
  ["wherever it stands", "User-agent: lockstep\nDisallow: /b\n\nUser-agent: *\nDisallow: /", "/b", false],
  ["of others, none", "User-agent: other\nDisallow: /", "/a", true],
  ["a longer name is another", "User-agent: lockstep-news\nDisallow: /", "/a", true],
  ["a shorter one, too", "User-agent: lock\nDisallow: /", "/a", true],
  ["a version is no part of the name", "User-agent: lockstep/2.0 (bot)\nDisallow: /a", "/a", false],
  ["several names of one group", "User-agent: other\nUser-agent: lockstep\nDisallow: /a", "/a", false],
  ["empty lines end nothing", "User-agent: lockstep\n\nDisallow: /a", "/a", false],
  [
    "groups are put together, I",
    "User-agent: lockstep\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: lockstep\nDisallow: /b",
    "/b",
    false,
  ],
  [
    "groups are put together, II",
    "User-agent: lockstep\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: lockstep\nDisallow: /b",
    "/a",
    false,
  ],
  [
    "groups are put together, III",
    "User-agent: lockstep\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: lockstep\nDisallow: /b",
    "/c",
    true,
  ],
  [
    "groups for everybody, too",
    "User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /\nUser-agent: *\nDisallow: /b",
    "/a",
    false,
  ],
  [
    "other lines do not part a group",
    "User-agent: lockstep\nSitemap: https://a.example/s.xml\nNoindex: /x\nUser-agent: x\nDisallow: /a",
    "/a",
    false,
  ],
  ["a delay does", "User-agent: lockstep\nCrawl-delay: 1\n\nUser-agent: x\nDisallow: /", "/a", true],
  ["rules before any name are nobody's", "Disallow: /\nUser-agent: *\nDisallow: /b", "/a", true],
  ["rubbish is skipped", "<html>\nUser-agent: *\nno colon here\n: nothing\nDisallow: /a\n\u0000\u0001", "/a", false],
  ["a rule that is no path is skipped", "User-agent: *\nDisallow: private", "/private", true],
  ["the longest match wins", "User-agent: *\nDisallow: /\nAllow: /open", "/open/a", true],
  [
    "the longest match wins, the other way round",
    "User-agent: *\nAllow: /\nDisallow: /open/secret",
    "/open/secret",
    false,
  ],
  ["at equal length it is allowed", "User-agent: *\nDisallow: /page\nAllow: /page", "/page", true],
  ["written escaped is not longer", "User-agent: *\nDisallow: /%7Eann\nAllow: /~ann", "/~ann", true],
  [
    "the example of RFC 9309",
    "User-agent: *\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif",
    "/example/page/disallowed.gif",
    false,
  ],
  [
    "the example of RFC 9309, one beside",
    "User-agent: *\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif",
    "/example/page/x",
    true,
  ],
  ["the end", "User-agent: *\nDisallow: /*.gif$", "/a/b.gif", false],
  ["after the end something follows", "User-agent: *\nDisallow: /*.gif$", "/a/b.gif?x", true],
  ["the end of a plain path", "User-agent: *\nDisallow: /$", "/", false],
  ["the end of a plain path, more follows", "User-agent: *\nDisallow: /$", "/a", true],
  ["the end, which stands twice", "User-agent: *\nDisallow: /*a$", "/aba", false],
  ["parts may not overlap", "User-agent: *\nDisallow: /ab*ba$", "/aba", true],
  ["anything in between", "User-agent: *\nDisallow: /a*/c", "/axx/b/cd", false],
  ["anything in between, also nothing", "User-agent: *\nDisallow: /a*/c", "/a/c", false],
  ["anything in between, in this order", "User-agent: *\nDisallow: /*x*y", "/yx", true],
  ["many stars", "User-agent: *\nDisallow: /**a***b", "/1a2b", false],
  ["a star at the end is nothing", "User-agent: *\nDisallow: /a*", "/ab", false],
  ["a star in front", "User-agent: *\nDisallow: *.php", "/x/y.php?z", false],
  ["a query", "User-agent: *\nDisallow: /*?sort=", "/list?sort=up", false],
  ["an escaped star is a star", "User-agent: *\nDisallow: /a%2Ab", "/a*b", false],
  ["an escaped star is nothing else", "User-agent: *\nDisallow: /a%2Ab", "/axb", true],
  ["an escaped dollar at the end", "User-agent: *\nDisallow: /a%24", "/a$b", false],
  ["a dollar in the middle", "User-agent: *\nDisallow: /a$b", "/a$b", false],
  ["letters escaped in the rule", "User-agent: *\nDisallow: /%61%62", "/ab", false],
  ["letters escaped in the address", "User-agent: *\nDisallow: /~joe", "/%7ejoe", false],
  ["small escapes and large ones", "User-agent: *\nDisallow: /a%3cd", "/a%3Cd", false],
  ["an unescaped letter in the rule", "User-agent: *\nDisallow: /ツ", "/%E3%83%84", false],
  ["an unescaped letter in the address", "User-agent: *\nDisallow: /%e3%83%84", "/ツ", false],
  ["an escaped slash is not a slash", "User-agent: *\nDisallow: /a/b", "/a%2Fb", true],
  ["an escaped slash is itself", "User-agent: *\nDisallow: /a%2fb", "/a%2Fb", false],
  ["an address in a query", "User-agent: *\nDisallow: /x?u=https://b.example", "/x?u=https%3A%2F%2Fb.example", false],
  [
    "an address in a query, escaped in the rule",
    "User-agent: *\nDisallow: /x?u=https%3A%2F%2Fb",
    "/x?u=https://b",
    false,
  ],
  ["a percent sign that escapes nothing", "User-agent: *\nDisallow: /100%", "/100%25", false],
];

describe("robots.txt", () => {
  for (const [title, robots, path, isAllowed] of CASES) {
    it(title, () => {
      const bytes = typeof robots === "string" ? utf8(robots) : robots;
      assert.equal(parseRobots(bytes, "lockstep").allows(path), isAllowed, path);
    });
  }

  it("names its sitemaps and a delay", () => {
    const text =
      "Sitemap: https://a.example/1.xml\nUser-agent: *\nCrawl-delay: 2.5\nsitemap:/2.xml\nSITEMAP: https://a.example/1.xml";
    const rules = parseRobots(utf8(text), "lockstep");
    assert.deepEqual(rules.sitemaps, ["https://a.example/1.xml", "/2.xml"]);
    assert.equal(rules.crawlDelayMs, 2500);
    for (const odd of ["soon", "-1", "Infinity", ""]) {
      assert.equal(parseRobots(utf8(`User-agent: *\nCrawl-delay: ${odd}`), "lockstep").crawlDelayMs, 0, odd);
    }
  });

  it("is read up to 500 KiB", () => {
    const filler = `#${"x".repeat(99)}\n`.repeat(5000);
    const early = utf8(`User-agent: *\nDisallow: /a\n${filler}${filler}Disallow: /b\n`);
    assert.equal(parseRobots(early, "lockstep").allows("/a"), false);
    assert.equal(parseRobots(early, "lockstep").allows("/b"), true);
  });

  it("costs little, however nasty its patterns are", () => {
    const nasty = `Disallow: /${"*a".repeat(2000)}$\n`.repeat(120);
    const path = `/${"a".repeat(4000)}b`;
    assert.equal(parseRobots(utf8(`User-agent: *\n${nasty}`), "lockstep").allows(path), true);
  });
});

describe("asking for robots.txt", () => {
  const page: RequestListener = (_request, response) => response.end("page");
  const text =
    (robots: string): RequestListener =>
    (_request, response) =>
      response.end(robots);

  it("comes first, once for an origin, and what it forbids is not asked for", async () => {
    const site = await startSite(page, text("User-agent: *\nDisallow: /private"));
    const client = openClient();
    const asks = ["/a", "/private/b", "/c"].map((path) => client.send(get(`${site.origin}${path}`)));
    const answers = await Promise.all(asks);
    assert.deepEqual(
      answers.map((answer) => (answer.kind === "refused" ? answer.why : answer.kind)),
      ["response", "robots", "response"],
    );
    assert.deepEqual(site.asked.toSorted(), ["/a", "/c", "/robots.txt"]);
  });

  it("is unpacked, too", async () => {
    const packed = gzipSync("User-agent: *\nDisallow: /");
    const robots: RequestListener = (_request, response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(packed);
    const site = await startSite(page, robots);
    assert.equal((await openClient().send(get(`${site.origin}/a`))).kind, "refused");
  });

  for (const status of [400, 401, 403, 404, 410, 451]) {
    it(`${status} forbids nothing`, async () => {
      const site = await startSite(page, (_request, response) =>
        response.writeHead(status).end("User-agent: *\nDisallow: /"),
      );
      asResponse(await openClient().send(get(`${site.origin}/a`)));
    });
  }

  for (const status of [429, 500, 502, 503]) {
    it(`${status} means not now, for as long as it lasts`, async () => {
      let now = status;
      const site = await startSite(page, (_request, response) => response.writeHead(now).end());
      const client = openClient();
      for (let i = 0; i < 3; i += 1) {
        const answer = await client.send(get(`${site.origin}/a`));
        assert.equal(answer.kind, "unavailable");
        assert.match(answer.kind === "unavailable" ? answer.reason : "", /robots\.txt of .* cannot be read/);
        await assert.rejects(client.sitemapsOf(site.origin, forever), /cannot be read/);
      }
      now = 404;
      asResponse(await client.send(get(`${site.origin}/a`)));
    });
  }

  it("cut in the middle or packed wrongly it is not read", async () => {
    const rows: RequestListener[] = [
      (_request, response) =>
        response.writeHead(200, { "content-length": 900 }).write("User-agent: *\n", () => response.destroy()),
      (_request, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("User-agent: *"),
    ];
    for (const robots of rows) {
      const site = await startSite(page, robots);
      assert.equal((await openClient().send(get(`${site.origin}/a`))).kind, "unavailable");
      assert.ok(!site.asked.includes("/a"));
    }
  });

  it("however long it is, its beginning is read", async () => {
    const beginning = "User-agent: *\nDisallow: /private\n";
    const filler = Buffer.alloc(6 * 1024 * 1024, "# x\n");
    const rows: RequestListener[] = [
      (_request, response) => response.writeHead(200, { "content-length": 2 ** 40 }).write(beginning + filler),
      (_request, response) => response.write(beginning + filler),
    ];
    for (const robots of rows) {
      const site = await startSite(page, robots);
      const client = openClient();
      assert.equal((await client.send(get(`${site.origin}/private`))).kind, "refused");
      asResponse(await client.send(get(`${site.origin}/a`)));
    }
  });

  for (const [redirects, outcome] of [
    [1, "refused"],
    [5, "refused"],
    [6, "response"],
  ] as const) {
    it(`${redirects} redirects: ${outcome}`, async () => {
      const listener: RequestListener = ({ url = "" }, response) => {
        const hop = Number(/\d+$/.exec(url)?.[0] ?? 0);
        if (url === "/a") response.end();
        else if (hop < redirects) response.writeHead(301, { location: `/hop${hop + 1}` }).end();
        else response.end("User-agent: *\nDisallow: /");
      };
      const site = await startSite(listener, listener);
      assert.equal((await openClient().send(get(`${site.origin}/a`))).kind, outcome);
    });
  }

  it("a redirect to nowhere forbids nothing", async () => {
    const site = await startSite(page, (_request, response) => response.writeHead(302).end());
    asResponse(await openClient().send(get(`${site.origin}/a`)));
    assert.deepEqual(site.asked, ["/robots.txt", "/a"]);
  });

  it("names sitemaps, as absolute addresses of the web", async () => {
    const lines = ["/s.xml", "https://other.example/s.xml.gz", "ftp://a.example/s", "http://", "javascript:alert(1)"];
    const site = await startSite(page, text(lines.map((line) => `Sitemap: ${line}`).join("\n")));
    assert.deepEqual(await openClient().sitemapsOf(`${site.origin}/any`, forever), [
      `${site.origin}/s.xml`,
      "https://other.example/s.xml.gz",
    ]);
  });

  it("is read again after a day, or when whoever asks wants it younger", async () => {
    let now = 0;
    let reads = 0;
    const send = async (): Promise<WebResult> => {
      reads += 1;
      return {
        kind: "response",
        status: 404,
        headers: new Map(),
        body: async () => new Uint8Array(),
        cancel: async () => {},
      };
    };
    const book = createRobotsCache({ token: "lockstep", send, restMs: 0, nowMs: () => now });
    const readsAt = async (minutes: number, maxAgeMs?: number): Promise<number> => {
      now = minutes * 60_000;
      await book.of("https://a.example", maxAgeMs);
      return reads;
    };
    assert.deepEqual([await readsAt(0), await readsAt(5, 300_000), await readsAt(6, 300_000)], [1, 1, 2]);
    assert.deepEqual([await readsAt(6, 0), await readsAt(24 * 60), await readsAt(24 * 60 + 6)], [2, 2, 3]);
  });

  it("is waited for by many, of whom one may give up", async () => {
    const release = Promise.withResolvers<void>();
    const site = await startSite(page, (_request, response) => void release.promise.then(() => response.end()));
    const client = openClient();
    const impatient = new AbortController();
    const first = client.send(get(`${site.origin}/a`, { signal: impatient.signal }));
    const second = client.send(get(`${site.origin}/b`));
    impatient.abort();
    await assert.rejects(first, { name: "CancelledError" });
    release.resolve();
    asResponse(await second);
  });
});
