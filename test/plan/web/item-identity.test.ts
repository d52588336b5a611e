// Different spellings of an address are one identity, without secrets.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { BadInputError } from "../../../src/contracts/errors.ts";
import { identifyFile, identifyUrl, isSameSite, shortHash, USUAL_RULES } from "../../../src/plan/web/item-identity.ts";
import { mayBePublicHost } from "../../../src/sources/web/http-transport.ts";

/** As it is written, as it is known. */
const ADDRESSES: readonly (readonly [written: string, known: string])[] = [
  // Scheme, host and port
  ["HTTPS://Example.COM/Path", "https://example.com/Path"],
  ["http://example.com", "http://example.com/"],
  ["http://example.com:80/a", "http://example.com/a"],
  ["https://example.com:443/a", "https://example.com/a"],
  ["https://example.com:80/a", "https://example.com:80/a"],
  ["https://example.com:/a", "https://example.com/a"],
  ["https://example.com./a", "https://example.com/a"],
  ["https:\\\\example.com\\a", "https://example.com/a"],
  ["  https://example.com/a\n", "https://example.com/a"],
  ["https://exa\tmple.com/a", "https://example.com/a"],
  ["https://user:password@example.com/a", "https://example.com/a"],
  ["https://user@example.com/a", "https://example.com/a"],
  ["https://a@b@example.com/a", "https://example.com/a"],
  // Hosts in other letters and numbers
  ["https://bücher.example/a", "https://xn--bcher-kva.example/a"],
  ["https://BÜCHER.example/a", "https://xn--bcher-kva.example/a"],
  ["https://xn--bcher-kva.example/a", "https://xn--bcher-kva.example/a"],
  ["https://b%C3%BCcher.example/a", "https://xn--bcher-kva.example/a"],
  ["https://ｅｘａｍｐｌｅ.com/a", "https://example.com/a"],
  ["https://例え。テスト/a", "https://xn--r8jz45g.xn--zckzah/a"],
  ["http://[2001:DB8:0:0::1]:80/a", "http://[2001:db8::1]/a"],
  ["http://[::ffff:192.0.2.1]:8080/", "http://[::ffff:c000:201]:8080/"],
  ["http://0x7f.1/a", "http://127.0.0.1/a"],
  ["http://3221225985/", "http://192.0.2.1/"],
  // Fragment and path
  ["https://example.com/a#part", "https://example.com/a"],
  ["https://example.com/#/route", "https://example.com/"],
  ["https://example.com/a/", "https://example.com/a"],
  ["https://example.com/a///", "https://example.com/a"],
  ["https://example.com//", "https://example.com/"],
  ["https://example.com//a//b", "https://example.com//a//b"],
  ["https://example.com/a/./b/../c", "https://example.com/a/c"],
  ["https://example.com/../../a", "https://example.com/a"],
  ["https://example.com/a/%2e%2E/b", "https://example.com/b"],
  ["https://example.com/A/b", "https://example.com/A/b"],
  ["https://example.com/a;v=1/b", "https://example.com/a;v=1/b"],
  // Escapes
  ["https://example.com/%7Euser", "https://example.com/~user"],
  ["https://example.com/%7euser/%41%2d%5F%2E", "https://example.com/~user/A-_."],
  ["https://example.com/a%2fb", "https://example.com/a%2Fb"],
  ["https://example.com/a%2Fb/", "https://example.com/a%2Fb"],
  ["https://example.com/%c3%a9", "https://example.com/%C3%A9"],
  ["https://example.com/é", "https://example.com/%C3%A9"],
  ["https://example.com/e\u0301", "https://example.com/e%CC%81"],
  ["https://example.com/a b|c[d]^", "https://example.com/a%20b%7Cc%5Bd%5D%5E"],
  ["https://example.com/100%", "https://example.com/100%25"],
  ["https://example.com/%%37E", "https://example.com/%257E"],
  ["https://example.com/%25%37%45", "https://example.com/%257E"],
  ["https://example.com/%e4", "https://example.com/%E4"],
  // Query
  ["https://example.com/a?", "https://example.com/a"],
  ["https://example.com/a?&&", "https://example.com/a"],
  ["https://example.com?b=2&a=1", "https://example.com/?a=1&b=2"],
  ["https://example.com/a/?b=2&a=1", "https://example.com/a?a=1&b=2"],
  ["https://example.com/a?x=2&y=0&x=1", "https://example.com/a?x=2&x=1&y=0"],
  ["https://example.com/a?ab=1&a=1&B=1", "https://example.com/a?B=1&a=1&ab=1"],
  ["https://example.com/a?q=%7e%c3%a9", "https://example.com/a?q=~%C3%A9"],
  ["https://example.com/a?u=http%3a%2f%2fx", "https://example.com/a?u=http%3A%2F%2Fx"],
  ["https://example.com/a?q[]=1", "https://example.com/a?q%5B%5D=1"],
  ["https://example.com/a?a", "https://example.com/a?a"],
  ["https://example.com/a?a=", "https://example.com/a?a="],
  ["https://example.com/a?q=b+c", "https://example.com/a?q=b+c"],
  ["https://example.com/a?q=b%20c", "https://example.com/a?q=b%20c"],
  ["https://example.com/a?q=b=c==", "https://example.com/a?q=b=c=="],
  ["https://example.com/a??b", "https://example.com/a??b"],
  // Trackers
  ["https://example.com/a?utm_source=x&id=1&utm_campaign=y", "https://example.com/a?id=1"],
  ["https://example.com/a?UTM_Source=x", "https://example.com/a"],
  ["https://example.com/a?utm%5fsource=x", "https://example.com/a"],
  ["https://example.com/a?gclid=x&fbclid=y&msclkid=z", "https://example.com/a"],
  ["https://example.com/a?gclid", "https://example.com/a"],
  ["https://example.com/a?utm=x&my_utm_source=y", "https://example.com/a?my_utm_source=y&utm=x"],
  // Secrets
  ["https://example.com/a?access_token=hidden&id=1", "https://example.com/a?id=1"],
  ["https://example.com/a?API_KEY=hidden", "https://example.com/a"],
  ["https://example.com/a?t%6Fken=hidden", "https://example.com/a"],
  ["https://example.com/a?sp=1&sv=2&page=3", "https://example.com/a?page=3&sp=1&sv=2"],
  [
    "https://acc.blob.core.windows.net/c/a.pdf?sv=2024-11-04&sr=b&sig=hidden%3D&se=2027&sp=r",
    "https://acc.blob.core.windows.net/c/a.pdf",
  ],
  [
    "https://b.s3.amazonaws.com/a?X-Amz-Signature=hidden&X-Amz-Credential=hidden&x=1",
    "https://b.s3.amazonaws.com/a?x=1",
  ],
  ["https://d.cloudfront.net/a?Expires=1&Signature=hidden&Key-Pair-Id=hidden", "https://d.cloudfront.net/a"],
];

test("addresses are known under one spelling, and nothing secret is kept of them", () => {
  for (const [written, known] of ADDRESSES) {
    const identity = identifyUrl(written, USUAL_RULES);
    assert.equal(identity.normalizedSource, known, written);
    assert.equal(new URL(known).href, known, "the spelling is one that URL parsers leave alone");
    assert.doesNotMatch(JSON.stringify(identity), /hidden|password|user[:@]/, written);
  }
});

test("ids are 26 letters of base32 of SHA-256, equal for equal addresses alone", () => {
  const { id } = identifyUrl("https://contoso.com/blog/post-1", USUAL_RULES);
  const bits = [...createHash("sha256").update("https://contoso.com/blog/post-1").digest()]
    .map((byte) => byte.toString(2).padStart(8, "0"))
    .join("");
  const letters = (bits.match(/.{5}/g) ?? []).map((five) =>
    "abcdefghijklmnopqrstuvwxyz234567".charAt(Number.parseInt(five, 2)),
  );
  assert.equal(id, `url_${letters.join("").slice(0, 26)}`);
  const known = new Map(ADDRESSES.map(([written, spelling]) => [identifyUrl(written, USUAL_RULES).id, spelling]));
  assert.deepEqual([...known.values()].sort(), [...new Set(ADDRESSES.map(([, spelling]) => spelling))].sort());
});

test("relative addresses are resolved, and only web addresses are taken", () => {
  const base = "https://example.com/docs/guide/?x=1#top";
  const resolved = (address: string) => identifyUrl(address, USUAL_RULES, base).normalizedSource;
  assert.equal(resolved("../api/#x"), "https://example.com/docs/api");
  assert.equal(resolved("//other.example/a"), "https://other.example/a");
  assert.equal(resolved("?b&a"), "https://example.com/docs/guide?a&b");
  assert.equal(resolved(""), "https://example.com/docs/guide?x=1");
  const wrong = [
    "",
    "example.com",
    "/a",
    "mailto:a@b",
    "javascript:alert(1)",
    "data:,x",
    "ftp://a/b",
    "file:///etc/passwd",
  ];
  wrong.push(
    "blob:https://a/b",
    "https://",
    "https://a b/",
    "https://[::1",
    "https://a:99999/",
    "http://./",
    "http://%00/",
  );
  wrong.push(`https://a/${"x".repeat(8000)}`);
  for (const address of wrong) {
    assert.throws(() => identifyUrl(address, USUAL_RULES), BadInputError, address.slice(0, 80));
  }
  assert.throws(
    () => identifyUrl("https://u:hunter2@/x", USUAL_RULES),
    (error: Error) => !/hunter2/.test(error.message),
  );
});

test("the address as found is asked for: as it is written, without fragment, secrets and trackers", () => {
  const found = (address: string) => identifyUrl(address, USUAL_RULES).foundSource;
  assert.equal(found("https://me:pw@EXAMPLE.com/a/?b=1&utm_source=x&a=%7e+#f"), "https://example.com/a/?b=1&a=%7e+");
  assert.equal(found("https://example.com/a?UTM_source=x&gclid=1"), "https://example.com/a");
  assert.equal(found("https://example.com/a?q=&&b"), "https://example.com/a?q=&&b");
  assert.equal(found("https://example.com/a?b=1&&token=hidden&a"), "https://example.com/a?b=1&a");
});

test("people see letters, and nothing that hides or turns the text", () => {
  const shown = (address: string) => identifyUrl(address, USUAL_RULES).displaySource;
  assert.equal(
    shown("https://xn--bcher-kva.example:8443/%C3%A9t%c3%a9/?q=%E4%BE%8B"),
    "https://bücher.example:8443/été?q=例",
  );
  assert.equal(
    shown("https://example.com/a%20b%2Fc%E2%80%AEd%C2%A0%E4"),
    "https://example.com/a%20b%2Fc%E2%80%AEd%C2%A0%E4",
  );
});

test("the group is the same for http and https and for every query, and no more than that", () => {
  const group = (address: string) => identifyUrl(address, USUAL_RULES).contentGroupId;
  assert.equal(group("http://example.com/a/?x=1"), group("https://EXAMPLE.com:443/a"));
  assert.equal(group("https://example.com/a"), shortHash("example.com/a"));
  assert.notEqual(group("https://example.com/a"), group("https://example.com/b"));
  assert.notEqual(group("https://example.com/a"), group("https://www.example.com/a"));
});

test("a site is a registrable domain, also below those who give names away", () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["https://docs.example.com/a", "http://www.example.com:8080/b", true],
    ["https://example.com./", "https://example.com/", true],
    ["https://a.example.co.uk/", "https://example.co.uk/", true],
    ["https://a.co.uk/", "https://b.co.uk/", false],
    ["https://a.github.io/", "https://b.github.io/", false],
    ["https://github.io/", "https://a.github.io/", false],
    ["https://x.a.github.io/", "https://a.github.io/", true],
    ["https://bücher.de/", "https://www.xn--bcher-kva.de/", true],
    ["https://example.com.evil.test/", "https://example.com/", false],
    ["http://localhost:1/", "http://localhost:2/", true],
    ["http://127.0.0.1/", "http://127.0.0.2/", false],
    ["http://[::1]/", "http://[::1]:9/", true],
    ["http://intranet/", "http://wiki/", false],
    ["nonsense", "nonsense", false],
  ];
  for (const [a, b, same] of cases) {
    assert.equal(isSameSite(a, b), same, `${a} ${b}`);
    assert.equal(isSameSite(b, a), same, `${b} ${a}`);
  }
});

test("files and blobs are known by path, whatever the system and the signature", () => {
  const files: readonly (readonly [written: string, known: string, shown: string])[] = [
    ["C:\\Docs\\\\Plan 1.docx\\", "file:///c:/docs/plan%201.docx", "C:/Docs/Plan 1.docx"],
    ["c:/docs/plan 1.docx", "file:///c:/docs/plan%201.docx", "C:/docs/plan 1.docx"],
    ["file:///C:/Docs/Plan%201.docx?x#y", "file:///c:/docs/plan%201.docx", "C:/Docs/Plan 1.docx"],
    ["\\\\?\\C:\\Docs\\..\\a", "file:///c:/a", "C:/a"],
    ["C:\\..\\..\\a", "file:///c:/a", "C:/a"],
    ["\\\\Server\\Share\\A.txt", "file://server/share/a.txt", "//server/Share/A.txt"],
    ["\\\\?\\UNC\\server\\share\\a.txt", "file://server/share/a.txt", "//server/share/a.txt"],
    ["file://server/share/a.txt", "file://server/share/a.txt", "//server/share/a.txt"],
    ["/srv//Docs/./x/../a b%20c/", "file:///srv/Docs/a%20b%2520c", "/srv/Docs/a b%20c"],
    ["/srv/a\\b", "file:///srv/a%5Cb", "/srv/a\\b"],
    ["file://localhost/srv/a", "file:///srv/a", "/srv/a"],
    ["/", "file:///", "/"],
    [
      "https://Acc.blob.core.windows.net/docs/Plan%20ä.docx?sv=2024-11-04&sig=hidden&versionid=1",
      "https://acc.blob.core.windows.net/docs/Plan%20%C3%A4.docx",
      "https://acc.blob.core.windows.net/docs/Plan%20ä.docx",
    ],
    // As the service tells blobs apart: by every slash, however it is written.
    ["https://a.b/docs/x%2Fplan.md", "https://a.b/docs/x/plan.md", "https://a.b/docs/x/plan.md"],
    ["https://a.b/docs/x//plan%2emd/", "https://a.b/docs/x//plan.md/", "https://a.b/docs/x//plan.md/"],
    ["https://a.b/docs/x%2F..%2Fa%3F%2b", "https://a.b/docs%2Fx%2F..%2Fa%3F+", "https://a.b/docs%2Fx%2F..%2Fa%3F+"],
  ];
  for (const [written, known, shown] of files) {
    const identity = identifyFile(written);
    assert.deepEqual([identity.normalizedSource, identity.displaySource], [known, shown]);
    assert.equal(identity.id, `file_${shortHash(known)}`);
    assert.doesNotMatch(JSON.stringify(identity), /hidden/);
  }
  const wrong = ["", "a/b", "C:a", "\\\\.\\COM1\\x", "file:///a%2Fb", "file:///%zz", "/a\0b", "s3://a/b", "\\\\a b\\c"];
  for (const path of wrong) assert.throws(() => identifyFile(path), BadInputError, path);
});

/** Pieces that addresses are made of, the ugly ones more often than in life. */
const ugly = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 4 }),
      fc.constantFrom(
        "%",
        "%7e",
        "%2F",
        "%25",
        "%%37E",
        "/",
        "//",
        "\\",
        ".",
        "..",
        "%2e",
        "?",
        "&",
        "=",
        "+",
        "#",
        "@",
      ),
      fc.constantFrom(
        "http://",
        "https:",
        "file:",
        "C:",
        "ü",
        "xn--",
        "[::1]",
        "1.2.3.4",
        ":80",
        "utm_a=1",
        "sig=",
        "\ud800",
        "\u202e",
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(""));

test("whatever is given, it is known under a spelling that is its own, or refused with a sentence", () => {
  const identify = [
    (text: string) => identifyUrl(text, USUAL_RULES),
    (text: string) => identifyUrl(`https://${text}`, USUAL_RULES),
    (text: string) => identifyUrl(`https://example.com/${text}`, USUAL_RULES),
    (text: string) => identifyUrl(text, USUAL_RULES, "https://example.com/a/b?c"),
  ];
  const identifyPath = [
    identifyFile,
    (text: string) => identifyFile(`/${text}`),
    (text: string) => identifyFile(`https://a.b/${text}`),
  ];
  fc.assert(
    fc.property(ugly, (text) => {
      for (const one of identify) {
        const identity = unlessRefused(() => one(text));
        if (!identity) continue;
        for (const same of [identity.normalizedSource, identity.displaySource]) {
          assert.equal(identifyUrl(same, USUAL_RULES).normalizedSource, identity.normalizedSource);
        }
        assert.match(identity.normalizedSource, /^https?:\/\/[!-~]+$/);
      }
      for (const one of identifyPath) {
        const identity = unlessRefused(() => one(text));
        if (identity) assert.equal(identifyFile(identity.normalizedSource).id, identity.id);
      }
    }),
    { numRuns: 600 },
  );
});

test("neither the order of parameters nor trackers make another item; the order of equal names does", () => {
  const parameter = fc.tuple(fc.constantFrom("a", "b", "B", "c%20", "é"), fc.constantFrom("", "=", "=1", "=2", "=%7e"));
  fc.assert(
    fc.property(fc.array(parameter, { maxLength: 8 }), fc.infiniteStream(fc.nat()), (parameters, random) => {
      const query = (pieces: readonly string[]) =>
        identifyUrl(`https://example.com/x?${pieces.join("&")}`, USUAL_RULES).id;
      const inOrder = parameters.map(([name, value]) => name + value);
      const byName = Object.values(Object.groupBy(parameters, ([name]) => name)).map((same = []) =>
        same.map((one) => one.join("")),
      );
      const mixed: string[] = [];
      for (
        let left = byName.filter((same) => same.length > 0);
        left.length > 0;
        left = left.filter((same) => same.length > 0)
      ) {
        const next = left[Number(random.next().value) % left.length]?.shift() ?? "";
        mixed.push(next, "utm_medium=x");
      }
      assert.equal(query(mixed), query(inOrder));
    }),
    { numRuns: 300 },
  );
  const ids = ["a=1&a=2", "a=2&a=1"].map((query) => identifyUrl(`https://example.com/?${query}`, USUAL_RULES).id);
  assert.notEqual(ids[0], ids[1]);
});

function unlessRefused<T>(identify: () => T): T | undefined {
  try {
    return identify();
  } catch (error) {
    assert.ok(error instanceof BadInputError, String(error));
    return undefined;
  }
}

test("an address of any length is judged in time that grows with it", () => {
  const slashes = "/".repeat(64_000);
  const dots = ".".repeat(64_000);
  const before = process.cpuUsage();
  const addresses = [`http://h.example${slashes}x`, `http://h.example/${slashes}`, `http://h.example${dots}x/`];
  for (const address of addresses) {
    assert.throws(() => identifyUrl(address, USUAL_RULES), BadInputError);
    assert.throws(() => identifyUrl(address.slice(7), USUAL_RULES, "http://h.example/"), BadInputError);
    assert.equal(isSameSite(address, "http://other.example/"), false);
    assert.ok(mayBePublicHost(new URL(address).hostname));
  }
  const base = `http://h.example/${"/".repeat(2000)}`;
  for (let link = 0; link < 1000; link += 1) {
    assert.equal(identifyUrl(`x${link}`, USUAL_RULES, base).normalizedSource, `${base}x${link}`);
  }
  const { user } = process.cpuUsage(before);
  assert.ok(user < 3_000_000, `${user} microseconds`);
});

test("an address whose port or host is wrong is refused for just that", () => {
  assert.throws(
    () => identifyUrl("http://127.0.0.1:99999/", USUAL_RULES),
    /^BadInputError: The port in the address is wrong/,
  );
  assert.throws(() => identifyUrl("http://a b/", USUAL_RULES), /^BadInputError: The host in the address is wrong/);
});
