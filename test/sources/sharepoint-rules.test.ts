// Addresses, names and filters are written as SharePoint reads them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BadInputError } from "../../src/contracts/errors.ts";
import { classifyStatus, requestedWaitMs } from "../../src/sources/sharepoint/http.ts";
import { decodeRow } from "../../src/sources/sharepoint/library-codec.ts";
import { parseErrorBody } from "../../src/sources/sharepoint/rest-client.ts";
import { encodePath, odataLiteral, parseSiteUrl, pathBelow } from "../../src/sources/sharepoint/site-url.ts";

describe("site address", () => {
  it("is taken apart", () => {
    assert.deepEqual(parseSiteUrl("https://Contoso.sharepoint.com/sites/R%26D%20x/"), {
      text: "https://contoso.sharepoint.com/sites/R%26D%20x",
      origin: "https://contoso.sharepoint.com",
      path: "/sites/R&D x",
      api: "https://contoso.sharepoint.com/sites/R%26D%20x/_api/",
    });
    assert.equal(parseSiteUrl("https://contoso.sharepoint.com").path, "");
  });

  it("is refused when it is none", () => {
    const wrong = [
      "",
      "contoso",
      "ftp://contoso.sharepoint.com",
      "http://contoso.sharepoint.com/sites/demo",
      "http://127.0.0.1.evil.com/sites/demo",
      "https://a:b@contoso.sharepoint.com",
      "https://contoso.sharepoint.com/sites/demo?x=1",
      "https://contoso.sharepoint.com/sites/%E0%A4%A",
    ];
    for (const text of wrong) assert.throws(() => parseSiteUrl(text), BadInputError, text);
    assert.throws(
      () => parseSiteUrl("https://a:hunter2@contoso.sharepoint.com"),
      (error: Error) => !error.message.includes("hunter2"),
    );
    for (const text of ["http://127.0.0.1:8080/sites/demo", "http://localhost/sites/x", "http://[::1]:9/"])
      parseSiteUrl(text);
  });
});

describe("escaping", () => {
  it("writes odd names as SharePoint reads them", () => {
    assert.equal(odataLiteral("It's #1 & 100% + 😀.docx"), "'It''s%20%231%20%26%20100%25%20%2B%20%F0%9F%98%80.docx'");
    assert.equal(encodePath("/a b/c%20d#.md"), "/a%20b/c%2520d%23.md");
    assert.equal(encodePath("/lone\ud800"), "/lone%EF%BF%BD");
  });

  it("cuts exactly the root, whatever its case", () => {
    assert.equal(pathBelow("/sites/Demo/Docs", "/sites/demo/docs/A/b%20.md"), "A/b%20.md");
    assert.equal(pathBelow("/sites/demo/Docs", "/sites/demo/Docs2/a.md"), undefined);
    assert.equal(pathBelow("/sites/demo/Docs", "/sites/demo/Docs"), undefined);
    assert.equal(pathBelow("/sites/demo/Docs", "/sites/demo/Docs/"), undefined);
  });
});

describe("error bodies", () => {
  const cases: [string, string, ReturnType<typeof parseErrorBody>][] = [
    [
      "nometadata",
      '{"odata.error":{"code":"-2147024894, System.IO.FileNotFoundException","message":{"lang":"en-US","value":"File Not Found."}}}',
      { code: -2147024894, exception: "System.IO.FileNotFoundException", message: "File Not Found." },
    ],
    [
      "verbose",
      '{"error":{"code":"-1, X.InvalidClientQueryException","message":{"lang":"pt-BR","value":"Não\\r\\nválido"}}}',
      { code: -1, exception: "X.InvalidClientQueryException", message: "Não válido" },
    ],
    [
      "atom",
      '<?xml version="1.0"?><m:error xmlns:m="x"><m:code>-1, A.B</m:code><m:message xml:lang="en-US">No.</m:message></m:error>',
      { code: -1, exception: "A.B", message: "No." },
    ],
    [
      "sign-in",
      '{"error_description":"Invalid JWT token."}',
      { code: undefined, exception: "", message: "Invalid JWT token." },
    ],
    [
      "graph",
      '{"error":{"code":"accessDenied","message":"no"}}',
      { code: undefined, exception: "accessDenied", message: "no" },
    ],
    ["plain", "404 FILE NOT FOUND", { code: undefined, exception: "", message: "404 FILE NOT FOUND" }],
    ["page", "<html><body>Throttled</body></html>", { code: undefined, exception: "", message: "" }],
    ["cut", '{"odata.error":{"co', { code: undefined, exception: "", message: "" }],
    ["empty", "", { code: undefined, exception: "", message: "" }],
  ];
  for (const [name, text, expected] of cases) {
    it(name, () => assert.deepEqual(parseErrorBody(text), expected));
  }
});

describe("retry rules", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  it("wait as long as the server asks, in seconds or until a date", () => {
    assert.equal(requestedWaitMs({ "retry-after": "31" }, now), 31_000);
    assert.equal(requestedWaitMs({ "retry-after": "Thu, 01 Jan 2026 00:00:10 GMT" }, now), 10_000);
    assert.equal(requestedWaitMs({ "retry-after": "Thu, 01 Jan 2025 00:00:10 GMT" }, now), 0);
    assert.equal(requestedWaitMs({ "retry-after": "2", "ratelimit-reset": "5" }, now), 5_000);
    assert.equal(requestedWaitMs({ "retry-after": "soon" }, now), undefined);
    assert.equal(requestedWaitMs({}, now), undefined);
  });

  it("tell a fault from a refusal", () => {
    const threshold = parseErrorBody(
      '{"odata.error":{"code":"-2147024860, M.SPQueryThrottledException","message":"x"}}',
    );
    const invalid = parseErrorBody('{"odata.error":{"code":"-1, M.InvalidClientQueryException","message":"x"}}');
    const other = parseErrorBody("");
    assert.equal(classifyStatus(500, other), "fault");
    assert.equal(classifyStatus(500, threshold), "final");
    assert.equal(classifyStatus(500, invalid), "final");
    assert.equal(classifyStatus(401, parseErrorBody("429 TOO MANY REQUESTS")), "throttled");
    const verdicts = [401, 403, 404, 408, 423, 429, 502, 503, 504].map((status) => classifyStatus(status, other));
    assert.deepEqual(verdicts, [
      ...["final", "final", "final", "fault", "final", "throttled", "fault", "throttled", "fault"],
    ]);
  });
});

describe("rows", () => {
  const place = { origin: "https://c.com", library: "/sites/d/Docs", root: "/sites/d/Docs" };
  const row = {
    Id: 7,
    UniqueId: "9CDB4661-6E4C-4380-B6FF-5ED7308BE13C",
    FileSystemObjectType: 0,
    FileRef: "/sites/d/Docs/R #1/Q'1.docx",
    FileLeafRef: "Q'1.docx",
    File: {
      Length: "19722",
      TimeLastModified: "2024-03-29T17:58:05Z",
      ETag: '"{9CDB4661},3"',
      ContentTag: "{9CDB4661},3,12",
    },
  };

  it("become sightings", () => {
    assert.deepEqual(decodeRow(row, place), {
      kind: "file",
      key: "9cdb4661-6e4c-4380-b6ff-5ed7308be13c",
      sighting: {
        kind: "sighting",
        itemId: "9cdb4661-6e4c-4380-b6ff-5ed7308be13c",
        listItemId: 7,
        name: "Q'1.docx",
        path: "R #1/Q'1.docx",
        serverPath: "/sites/d/Docs/R #1/Q'1.docx",
        url: "https://c.com/sites/d/Docs/R%20%231/Q'1.docx",
        rawUrl: "https://c.com/sites/d/Docs/R #1/Q'1.docx",
        documentType: "docx",
        form: "document",
        fingerprint: {
          size: 19722,
          modifiedAt: "2024-03-29T17:58:05.000000Z",
          etag: '"{9CDB4661},3"',
          contentVersion: "12",
        },
      },
    });
  });

  it("of folders, and outside the wanted folder, are put aside", () => {
    assert.equal(decodeRow({ ...row, FileSystemObjectType: 1, File: null }, place).kind, "ignored");
    assert.equal(decodeRow(row, { ...place, root: "/sites/d/Docs/Other" }).kind, "ignored");
  });

  it("that make no sense protect what they may stand for", () => {
    const cases: [unknown, string][] = [
      [{ ...row, UniqueId: undefined }, "R #1/Q'1.docx"],
      [{ ...row, UniqueId: "../x" }, "R #1/Q'1.docx"],
      [{ ...row, FileRef: undefined }, ""],
      [{ ...row, FileRef: "/elsewhere/a.md" }, ""],
      [{ ...row, File: null }, "R #1/Q'1.docx"],
      [{ ...row, File: { ...row.File, Length: "" } }, "R #1/Q'1.docx"],
      [{ ...row, File: { ...row.File, TimeLastModified: "yesterday" } }, "R #1/Q'1.docx"],
      ["nonsense", ""],
    ];
    for (const [value, path] of cases) {
      const decoded = decodeRow(value, place);
      assert.ok(decoded.kind === "invalid", JSON.stringify(value));
      assert.equal(decoded.unreadable.path, path);
    }
  });
});
