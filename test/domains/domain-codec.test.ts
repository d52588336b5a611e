// A domain.json is read and written as specified, and every mistake in it is reported at once.
import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import type { Domain, SourceConfig } from "../../src/contracts/domain.ts";
import { BadInputError } from "../../src/contracts/errors.ts";
import type { DomainId, SourceId, VectorStoreId } from "../../src/contracts/ids.ts";
import { formatSource } from "../../src/domains/source-codec.ts";
import { findSiteUrlProblem } from "../../src/lib/site-url.ts";
import { isFolderSource } from "../../src/sources/folder/folder-kind.ts";
import { mergeDomain, ofKind, parseDomain, parseDomainInput } from "../kinds.ts";

const DEMO = "DEMO" as DomainId;
const SOURCE = {
  source_id: "docs_main",
  site_url: "https://contoso.sharepoint.com/sites/MyProject",
  sharepoint_url_part: "/Shared Documents",
  filter: "",
};

test("the domain.json of the specification is read: three kinds of sources", () => {
  const domain = parseDomain(
    {
      name: "My Domain",
      description: "Domain description",
      vector_store_name: "my-vector-store",
      vector_store_id: "vs_abc123",
      file_sources: [{ ...SOURCE, max_removals: 5, allow_empty: true, note: "ours" }],
      list_sources: [{ source_id: "tasks", site_url: SOURCE.site_url, list_name: "Project Tasks", filter: "" }],
      sitepage_sources: [{ ...SOURCE, source_id: "pages", sharepoint_url_part: "/SitePages/", filter: "ID gt 1" }],
      schedule: "0 3 * * *",
    },
    DEMO,
  );
  assert.deepEqual(domain, {
    domainId: "DEMO",
    name: "My Domain",
    description: "Domain description",
    vectorStoreName: "my-vector-store",
    vectorStoreId: "vs_abc123",
    schedule: "0 3 * * *",
    sources: [
      {
        sourceId: "docs_main",
        ...ofKind("file_sources"),
        siteUrl: "https://contoso.sharepoint.com/sites/MyProject",
        urlPart: "/Shared Documents",
        filter: "",
        limits: { maxRemovals: 5, maxRemovalsPercent: 25, allowEmpty: true },
      },
      {
        sourceId: "tasks",
        ...ofKind("list_sources"),
        siteUrl: "https://contoso.sharepoint.com/sites/MyProject",
        listName: "Project Tasks",
        filter: "",
        limits: { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false },
      },
      {
        sourceId: "pages",
        ...ofKind("sitepage_sources"),
        siteUrl: "https://contoso.sharepoint.com/sites/MyProject",
        urlPart: "/SitePages",
        filter: "ID gt 1",
        limits: { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false },
      },
    ],
  });
});

test("a domain.json that says little gets the defaults", () => {
  assert.deepEqual(parseDomain({}, DEMO), {
    domainId: "DEMO",
    name: "DEMO",
    description: "",
    vectorStoreName: "DEMO",
    vectorStoreId: "",
    schedule: "",
    sources: [],
  });
});

test("everything wrong in a domain.json is told at once", () => {
  const sources = [
    { ...SOURCE, site_url: "http://contoso.sharepoint.com", sharepoint_url_part: "Documents" },
    { ...SOURCE, max_removals: -1, max_removals_percent: 101, allow_empty: "yes" },
    "text",
  ];
  const list_sources = [{ source_id: "tasks", site_url: SOURCE.site_url, list_name: " ", filter: 7 }];
  const sitepage_sources = [
    { ...SOURCE, source_id: "a/b", sharepoint_url_part: "/SitePages/.." },
    { ...SOURCE, source_id: "DOCS_MAIN" },
    { ...SOURCE, source_id: "docs_main" },
  ];
  assert.throws(
    () => parseDomain({ name: 7, file_sources: sources, list_sources, sitepage_sources }, DEMO),
    (error: unknown) => {
      assert.ok(error instanceof BadInputError);
      for (const part of [
        "Cannot read domain 'DEMO'",
        "name must be text",
        "file_sources[0].site_url must begin with https://",
        "file_sources[0].sharepoint_url_part must begin with",
        "file_sources[1].max_removals must be",
        "file_sources[1].max_removals_percent must be",
        "file_sources[1].allow_empty must be",
        "file_sources[2] must be an object with source_id, site_url, sharepoint_url_part, filter",
        'list_sources[0].list_name must be the title of the list, like "Project Tasks"',
        "list_sources[0].filter must be text",
        "sitepage_sources[0]: 'source_id' must be",
        'sitepage_sources[0].sharepoint_url_part must not hold "." or ".."',
        "source_id 'docs_main' is used more than once",
      ]) {
        assert.ok(error.message.includes(part), `${part} in: ${error.message}`);
      }
      return true;
    },
  );
});

test("rules of a web source that cannot be meant are refused", () => {
  const web = (source: object): (() => Domain) => {
    return () =>
      parseDomain({ web_sources: [{ source_id: "site", start_urls: ["https://a.example/"], ...source }] }, DEMO);
  };
  assert.throws(web({ start_urls: [] }), /web_sources\[0\]\.start_urls must name at least one address/);
  assert.throws(web({ start_urls: undefined }), /start_urls must name at least one address/);
  assert.deepEqual(web({ source_id: "urls", start_urls: undefined })().sources[0]?.sourceId, "urls");
  assert.throws(
    web({ include: ["/a", "guide/**"] }),
    /include must begin with "\/", "\*" or "https:\/\/".*number 2 matches no page/,
  );
  assert.throws(web({ exclude: ["a.example/x"] }), /exclude must begin with .*number 1 matches no page/);
  const fine = [
    "/guide/**",
    "**/*.pdf",
    "*",
    "https://a.example/**",
    "http://a.example/x",
    "{/a,/b}/**",
    "!(/a)",
    "[/]a",
  ];
  web({ include: fine, exclude: fine })();
  assert.throws(web({ max_pages: 1_000_001 }), /max_pages must be a whole number from 1 to 1000000/);
});

const FOLDER = { source_id: "share", root: "/srv/share" };
const CONTAINER = { source_id: "blobs", container_url: "https://contoso.blob.core.windows.net/handbook" };

test("a folder and a container that say little get the defaults", () => {
  const rules = { include: [], exclude: [], hidden: false, maxFileBytes: 100 * 1024 * 1024 };
  const limits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };
  const { sources } = parseDomain({ folder_sources: [FOLDER], blob_sources: [CONTAINER] }, DEMO);
  assert.deepEqual(sources, [
    { ...ofKind("folder_sources"), sourceId: "share", root: "/srv/share", ...rules, gitignore: false, limits },
    {
      ...ofKind("blob_sources"),
      sourceId: "blobs",
      containerUrl: CONTAINER.container_url,
      prefix: "",
      credential: "",
      ...rules,
      limits,
    },
  ]);
});

test("a folder is an absolute path, written in one way", {
  skip: process.platform === "win32" && "other paths",
}, () => {
  const rootOf = (root: unknown): string => {
    const [source] = parseDomain({ folder_sources: [{ ...FOLDER, root }] }, DEMO).sources;
    return source && isFolderSource(source) ? source.root : assert.fail();
  };
  assert.equal(rootOf(" /srv//a b/./c// "), "/srv/a b/c");
  assert.equal(rootOf("/"), "/");
  assert.equal(rootOf("~/notes"), join(homedir(), "notes"));
  for (const root of [undefined, 7, " "]) assert.throws(() => rootOf(root), /root must be the path of a folder/);
  for (const root of ["share", "./share", "~ada/share", "C:\\share", "file:///srv"]) {
    assert.throws(() => rootOf(root), /root must be an absolute path on the machine that crawls/, root);
  }
  assert.throws(() => rootOf("/srv/../etc"), /must not hold "\.\." as a folder/);
  assert.throws(() => rootOf("/srv/a\0b"), /must not hold line ends or other control characters/);
});

test("patterns of a folder that cannot be meant are refused", () => {
  const folder = (fields: object) => () => parseDomain({ folder_sources: [{ ...FOLDER, ...fields }] }, DEMO);
  const fine = ["*.md", "My Files/**", "/top.txt", "node_modules", "{a,b}/*.pdf", "!(a|b).md", "a\\*b", "[x]"];
  assert.deepEqual(folder({ include: fine })().sources[0], {
    ...folder({})().sources[0],
    include: fine,
  });
  assert.throws(folder({ include: ["ok", "!drafts"] }), /include must not begin with "!"; number 2 does/);
  assert.throws(folder({ exclude: ["a\\b"] }), /exclude must separate folders by "\/".*number 1 has/);
  for (const glob of ["../x", "/", "a/./b"]) assert.throws(folder({ include: [glob] }), /number 1 matches no file/);
  assert.throws(folder({ include: ["a\tb"] }), /visible characters/);
  assert.throws(folder({ include: [1] }), /include must be a list of texts/);
  assert.throws(folder({ hidden: "yes" }), /hidden must be true or false/);
  assert.throws(folder({ max_file_mb: 0 }), /max_file_mb must be a whole number from 1/);
});

test("a container is told by its address alone: no signature, no secret, and none is repeated", () => {
  const container = (fields: object) => () => parseDomain({ blob_sources: [{ ...CONTAINER, ...fields }] }, DEMO);
  const urls = {
    "https://contoso.blob.core.windows.net/handbook/": "https://contoso.blob.core.windows.net/handbook",
    "http://127.0.0.1:10000/devstoreaccount1/c-1": "http://127.0.0.1:10000/devstoreaccount1/c-1",
    "https://contoso.blob.core.windows.net/$web": "https://contoso.blob.core.windows.net/$web",
    "https://files.example.com/handbook": "https://files.example.com/handbook",
  };
  for (const [given, kept] of Object.entries(urls)) {
    const [source] = container({ container_url: given })().sources;
    assert.equal(source && formatSource(source)["container_url"], kept);
  }
  const wrong: [string, RegExp][] = [
    ["contoso", /must be the address of a container/],
    ["ftp://hunter2/c", /must be the address of a container/],
    ["http://contoso.blob.core.windows.net/hunter2", /must begin with https/],
    ["https://a:hunter2@contoso.blob.core.windows.net/abc", /must not hold a user name or password/],
    ["https://contoso.blob.core.windows.net/abc?sv=1&sig=hunter2", /give that variable's name as 'credential'/],
    ["https://contoso.blob.core.windows.net", /must name the container/],
    ["https://contoso.blob.core.windows.net/abc/hunter2", /belongs into 'prefix'/],
    ["https://contoso.blob.core.windows.net/Hunter2", /3 to 63 small letters/],
  ];
  const said = (fields: object): string => {
    try {
      container(fields)();
    } catch (error) {
      return String(error);
    }
    return "nothing";
  };
  for (const [container_url, sentence] of wrong) {
    assert.match(said({ container_url }), sentence);
    assert.doesNotMatch(said({ container_url }), /hunter2/i);
  }
  for (const credential of ["sv=2026&sig=hunter2", "AccountKey=hunter2;", "hunter2", "?sig=HUNTER2", 7]) {
    assert.match(said({ credential }), /credential must be the name of an environment variable/);
    assert.doesNotMatch(said({ credential }), /hunter2|HUNTER2/);
  }
  assert.equal(said({ credential: "HANDBOOK_SAS", prefix: "a b/" }), "nothing");
  assert.match(said({ prefix: "a\nb" }), /prefix must be what the names of the blobs begin with/);
  for (const prefix of ["?sv=1&sig=hunter2", "sig=hunter2", "a/;AccountKey=hunter2"]) {
    assert.match(said({ prefix }), /^(?!.*hunter2).*prefix must not hold a key or signature/);
  }
});

test("a repository is told by its address, a branch and the name of a variable", () => {
  const repository = "https://github.com/contoso/handbook.git";
  const parse = (fields: object) => () =>
    parseDomain({ git_sources: [{ source_id: "git", repository, ...fields }] }, DEMO).sources[0];
  assert.deepEqual(parse({ branch: " docs/live ", credential: "HANDBOOK_TOKEN" })(), {
    ...ofKind("git_sources"),
    sourceId: "git",
    repository,
    branch: "docs/live",
    credential: "HANDBOOK_TOKEN",
    ...{ include: [], exclude: [], hidden: false, maxFileBytes: 100 * 1024 * 1024 },
    limits: { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false },
  });
  for (const wrong of [undefined, 7, " ", "ext::sh"]) assert.throws(parse({ repository: wrong }), /repository must be/);
  for (const wrong of [7, "-x", "a b"]) assert.throws(parse({ branch: wrong }), /branch must be the name of a branch/);
  for (const field of ["repository", "credential"]) {
    assert.throws(
      parse({ [field]: "https://hunter2@github.com/o/r" }),
      (error: Error) => /variable/.test(error.message) && !/hunter2/.test(error.message),
    );
  }
});

test("a domain has every folder once; one inside another is a matter of rules", () => {
  const both = (first: object, second: object) => () =>
    parseDomainInput({ domain_id: "DEMO", name: "Demo", folder_sources: [first, second] });
  assert.throws(
    both(FOLDER, { ...FOLDER, source_id: "again", root: "/srv/share/" }),
    /Sources 'share' and 'again' are both \/srv\/share: every file would be found twice\. .*, and exclude that in the other\./,
  );
  assert.equal(both(FOLDER, { ...FOLDER, source_id: "inner", root: "/srv/share/inner" })().sources.length, 2);
  const blobs = [CONTAINER, { ...CONTAINER, source_id: "more", prefix: "more/" }];
  assert.equal(parseDomain({ blob_sources: blobs }, DEMO).sources.length, 2);
  assert.throws(() => parseDomain({ blob_sources: [CONTAINER, { ...CONTAINER, source_id: "x" }] }, DEMO), /twice/);
});

test("form fields hold patterns line by line: names have blanks", () => {
  const sources_json = JSON.stringify({ folder_sources: [{ ...FOLDER, include: "My Files/**\r\n\n*.md\n" }] });
  const [source] = parseDomainInput({ domain_id: "DEMO", name: "Demo", sources_json }).sources;
  assert.deepEqual(source && formatSource(source)["include"], ["My Files/**", "*.md"]);
});

test("the source id of files attached directly is nobody else's", () => {
  const file_sources = [{ ...SOURCE, source_id: "_direct" }];
  const sentence = /file_sources\[0\]: source_id '_direct' is taken by files attached to the vector store directly/;
  assert.throws(() => parseDomainInput({ domain_id: "DEMO", name: "Demo", file_sources }), sentence);
  assert.throws(() => parseDomain({ file_sources }, DEMO), sentence);
});

test("what is written is read back, and what is not ours stays", () => {
  const name = fc.string({ unit: "grapheme", minLength: 1 });
  const id = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
  const plain = { noNullPrototype: true } as const;
  const limits = {
    maxRemovals: fc.nat(),
    maxRemovalsPercent: fc.integer({ min: 0, max: 100 }),
    allowEmpty: fc.boolean(),
  };
  const place = {
    sourceId: id.map((text) => text as SourceId),
    siteUrl: id.map((text) => `https://contoso.sharepoint.com/sites/${text}`),
    filter: fc.string(),
    limits: fc.record(limits, plain),
  };
  const urlPart = id.map((text) => `/${text}`);
  const glob = fc.stringMatching(/^[a-z*? ]{0,5}[a-z*](\/[a-z*]{1,5}){0,2}$/).map((text) => text.trim());
  const globs = fc.uniqueArray(glob, { maxLength: 3 });
  const maxFileBytes = fc.integer({ min: 1, max: 100_000 }).map((megabytes) => megabytes * 1024 * 1024);
  const { sourceId, limits: treeLimits } = place;
  const tree = { sourceId, limits: treeLimits, include: globs, exclude: globs, hidden: fc.boolean(), maxFileBytes };
  // Of one place there is one source.
  const root = fc.uuid().map((text) => `/srv/${text}`);
  const container = {
    containerUrl: fc.uuid().map((text) => `https://contoso.blob.core.windows.net/${text}`),
    prefix: fc.stringMatching(/^([a-z ]{0,5}[a-z]\/)?$/).map((text) => text.trim()),
    credential: fc.constantFrom("", "HANDBOOK_SAS"),
  };
  const branch = {
    repository: fc.uuid().map((text) => `https://github.com/contoso/${text}`),
    branch: fc.constantFrom("", "main"),
    credential: fc.constantFrom("", "HANDBOOK_TOKEN"),
  };
  const source = fc.oneof(
    fc.record({ ...place, urlPart }, plain).map((fields) => ofKind("file_sources", fields)),
    fc.record({ ...place, listName: id }, plain).map((fields) => ofKind("list_sources", fields)),
    fc.record({ ...place, urlPart }, plain).map((fields) => ofKind("sitepage_sources", fields)),
    fc.record({ ...tree, root, gitignore: fc.boolean() }, plain).map((fields) => ofKind("folder_sources", fields)),
    fc.record({ ...tree, ...container }, plain).map((fields) => ofKind("blob_sources", fields)),
    fc.record({ ...tree, ...branch }, plain).map((fields) => ofKind("git_sources", fields)),
  );
  const ofType = (all: readonly SourceConfig[], type: string): SourceConfig[] =>
    all.filter(({ sourceType }) => sourceType === type);
  const sources = fc
    .uniqueArray(source, { selector: ({ sourceId }) => sourceId, maxLength: 6 })
    .map((all) => BUILT_IN_KINDS.types.flatMap((type) => ofType(all, type)));
  const domainFields = {
    domainId: fc.constant(DEMO),
    name,
    description: fc.string(),
    vectorStoreName: name,
    vectorStoreId: fc.string().map((text) => text as VectorStoreId),
    schedule: fc.constantFrom("", "0 2 * * *", "*/5 8-18 * * MON-FRI"),
    sources,
  };
  const domain = fc.record(domainFields, plain);
  const foreign = fc.dictionary(fc.stringMatching(/^custom_[a-z]{1,8}$/), fc.jsonValue());
  fc.assert(
    fc.property(domain, foreign, foreign, (wanted: Domain, others, inSource) => {
      const arrays = BUILT_IN_KINDS.types.map((type) => [
        type,
        ofType(wanted.sources, type).map(({ sourceId }) => ({ ...inSource, source_id: sourceId })),
      ]);
      const earlier = { ...others, ...(Object.fromEntries(arrays) as object) };
      const json = JSON.parse(JSON.stringify(mergeDomain(wanted, earlier))) as Record<string, unknown>;
      assert.deepEqual(parseDomain(json, DEMO), wanted);
      const written = BUILT_IN_KINDS.types.flatMap((type) => json[type] as Record<string, unknown>[]);
      assert.equal(written.length, wanted.sources.length);
      for (const [key, value] of Object.entries(JSON.parse(JSON.stringify(others)) as object)) {
        assert.deepEqual(json[key], value);
      }
      for (const [key, value] of Object.entries(JSON.parse(JSON.stringify(inSource)) as object)) {
        for (const entry of written) assert.deepEqual(entry[key], value);
      }
    }),
  );
});

test("a new domain needs an id and a name, nothing else", () => {
  assert.deepEqual(parseDomainInput({ domain_id: "DEMO", name: " Demo " }), {
    domainId: "DEMO",
    name: "Demo",
    description: "",
    vectorStoreName: "DEMO",
    vectorStoreId: "",
    schedule: "",
    sources: [],
  });
  assert.throws(() => parseDomainInput({}), {
    name: "BadInputError",
    message: "Missing required field: domain_id. Missing required field: name.",
  });
  assert.throws(() => parseDomainInput([]), /must be a JSON object or form fields/);
});

test("sources come as arrays or as one JSON string, not both", () => {
  const base = { domain_id: "DEMO", name: "Demo" };
  const asArray = parseDomainInput({ ...base, file_sources: [SOURCE], list_sources: [] });
  const asText = parseDomainInput({ ...base, sources_json: JSON.stringify({ file_sources: [SOURCE] }) });
  assert.deepEqual(asArray, asText);
  assert.equal(asArray.sources.length, 1);
  assert.throws(() => parseDomainInput({ ...base, file_sources: [], sources_json: "{}" }), /not both/);
  assert.throws(() => parseDomainInput({ ...base, sources_json: "[1" }), /'sources_json' must be a JSON object/);
});

test("what is unknown is refused with what is accepted", () => {
  const body = {
    domain_id: "a/b",
    name: "",
    vector_store: "x",
    file_sources: [
      { ...SOURCE, source_id: "a", fitler: "" },
      { ...SOURCE, source_id: "A" },
    ],
    list_sources: [{ source_id: "tasks", site_url: SOURCE.site_url, list_name: "Tasks", sharepoint_url_part: "/x" }],
    sitepage_sources: [{ source_id: "pages" }],
  };
  assert.throws(
    () => parseDomainInput(body),
    (error: Error) => {
      for (const part of [
        "'domain_id' must be",
        "Missing required field: name.",
        "Unknown field 'vector_store'. Accepted: domain_id, name,",
        "Unknown field 'fitler' in file_sources[0]. Accepted: source_id, site_url,",
        "Unknown field 'sharepoint_url_part' in list_sources[0]. Accepted: source_id, site_url, list_name, filter,",
        "sitepage_sources[0].site_url must be",
        'sitepage_sources[0].sharepoint_url_part must begin with "/" and name the library, like "/SitePages"',
        "source_id 'A' is used more than once",
      ]) {
        assert.ok(error.message.includes(part), `${part} in: ${error.message}`);
      }
      return true;
    },
  );
});

test("a change keeps what it does not name", () => {
  const existing = parseDomainInput({
    domain_id: "DEMO",
    name: "Demo",
    description: "Old",
    vector_store_id: "vs_1",
    schedule: " 0  2 * * * ",
    file_sources: [SOURCE],
  });
  assert.equal(existing.schedule, "0 2 * * *");
  assert.deepEqual(parseDomainInput({}, existing), existing);
  assert.deepEqual(parseDomainInput({ schedule: "" }, existing), { ...existing, schedule: "" });
  assert.deepEqual(parseDomainInput({ sources_json: "", description: "" }, existing), { ...existing, description: "" });
  assert.deepEqual(parseDomainInput({ vector_store_id: "" }, existing), { ...existing, vectorStoreId: "" });
  assert.deepEqual(parseDomainInput({ sources_json: "{}" }, existing), { ...existing, sources: [] });
  assert.throws(() => parseDomainInput({ name: " " }, existing), /Missing required field: name/);
  assert.equal(parseDomainInput({ domain_id: "OTHER" }, existing).domainId, "DEMO", "a rename is another matter");
});

test("an array replaces the sources of its kind only, sources_json all of them", () => {
  const list = { source_id: "tasks", site_url: SOURCE.site_url, list_name: "Tasks", filter: "" };
  const pages = { ...SOURCE, source_id: "pages", sharepoint_url_part: "/SitePages" };
  const kinds = { file_sources: [SOURCE], list_sources: [list], sitepage_sources: [pages] };
  const existing = parseDomainInput({ domain_id: "DEMO", name: "Demo", ...kinds });
  const ids = (body: object): string[] => parseDomainInput(body, existing).sources.map(({ sourceId }) => sourceId);
  assert.deepEqual(ids({}), ["docs_main", "tasks", "pages"]);
  assert.deepEqual(ids({ list_sources: [{ ...list, source_id: "more" }, list] }), [
    "docs_main",
    "more",
    "tasks",
    "pages",
  ]);
  assert.deepEqual(ids({ file_sources: [] }), ["tasks", "pages"]);
  assert.deepEqual(ids({ sources_json: JSON.stringify({ sitepage_sources: [pages] }) }), ["pages"]);
  assert.throws(() => ids({ list_sources: [{ ...list, source_id: "PAGES" }] }), /'pages' is used more than once/);
  assert.throws(() => ids({ list_sources: [], sources_json: "{}" }), /not both/);
  assert.throws(() => ids({ sources_json: '{"ftp_sources": []}' }), /Unknown field 'ftp_sources' in sources_json/);
});

test("tokens go to https only, or to this machine", () => {
  for (const fine of [
    "https://contoso.sharepoint.com/sites/x",
    "http://127.0.0.1:8080/sites/x",
    "http://localhost:1/",
    "http://[::1]:8080/sites/x",
  ]) {
    assert.equal(findSiteUrlProblem(fine), undefined, fine);
  }
  for (const wrong of [
    "",
    "contoso.sharepoint.com",
    "ftp://contoso.sharepoint.com",
    "http://contoso.sharepoint.com",
    "http://localhost.contoso.com/",
    "http://127.0.0.1.contoso.com/",
    "https://user:secret@contoso.sharepoint.com",
    "https://contoso.sharepoint.com/?x=1",
    "https://contoso.sharepoint.com/sites/%E0%A4%A",
    "javascript:alert(1)",
  ]) {
    assert.notEqual(findSiteUrlProblem(wrong), undefined, wrong);
  }
});

test("a schedule that is none takes nothing else away, says why, and stays as it was written until it is replaced", () => {
  for (const schedule of ["daily", 5, ["0 2 * * *"]]) {
    const json = { name: "Demo", vector_store_id: "vs_1", schedule, file_sources: [SOURCE] };
    const domain = parseDomain(json, DEMO);
    assert.deepEqual([domain.schedule, domain.sources.length], ["", 1]);
    assert.match(domain.scheduleProblem ?? "", /'schedule' must be/);
    const renamed = parseDomainInput({ name: "Other" }, domain);
    assert.deepEqual(mergeDomain(renamed, json)["schedule"], schedule, "somebody may still correct it");
    for (const wanted of ["", "0 3 * * *"]) {
      const changed = parseDomainInput({ schedule: wanted }, domain);
      assert.deepEqual(mergeDomain(changed, json)["schedule"], wanted);
    }
    assert.throws(() => parseDomainInput({ schedule: "daily" }, domain), /'schedule' must be five fields/);
  }
  assert.equal("scheduleProblem" in parseDomain({ name: "Demo", schedule: "0 2 * * *" }, DEMO), false);
});

test("secrets cannot be written into start addresses; a domain that has some opens, and can be changed in other ways", () => {
  const site = (start: string, source_id = "site") => ({ source_id, start_urls: [start] });
  const input = (...web_sources: object[]) => ({ domain_id: "DEMO", name: "Demo", web_sources });
  const secrets = [
    ...[
      "https://a.example/?private_token=hunter2",
      "https://a.example/?x=1&sessionid=hunter2",
      "https://bob:hunter2@a.example/",
    ],
    ...[
      "https://a.example/;jsessionid=hunter2",
      "https://a.example/?key=9f86d081884c7d659a2feaa0c55ad015hunter2x1y2z3",
    ],
  ];
  for (const start of secrets) {
    const sentence = /^(?!.*hunter2).*web_sources\[1\]\.start_urls must not contain secrets; number 1 does\./;
    assert.throws(
      () => parseDomainInput(input(site("https://b.example/", "b"), site(start))),
      { message: sentence },
      start,
    );
    const known = parseDomain({ name: "Demo", web_sources: [site(start)] }, DEMO);
    assert.throws(() =>
      parseDomainInput(input(site("https://b.example/", "b"), site(start)), { ...known, sources: [] }),
    );
    const renamed = parseDomainInput({ name: "Other", web_sources: [{ ...site(start), max_depth: 2 }] }, known);
    assert.deepEqual([renamed.name, renamed.sources.length], ["Other", 1]);
    const packed = parseDomainInput({ sources_json: JSON.stringify({ web_sources: [site(start)] }) }, known);
    assert.deepEqual(packed.sources, known.sources);
  }
  for (const start of ["https://a.example/?key=red", "https://a.example/?code=404&auth=none"]) {
    assert.equal(parseDomainInput(input(site(start))).sources.length, 1);
  }
});
