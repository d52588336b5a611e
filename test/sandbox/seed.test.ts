// The seeded company has readable documents of all kinds, with known answers.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import mammoth from "mammoth";
import { extractText, getDocumentProxy } from "unpdf";
import { demoQuestions } from "../../src/sandbox/seed/demo.ts";
import { companyDocuments, seedTenant } from "../../src/sandbox/seed/seed-tenant.ts";
import { describeLibrary } from "../../src/sandbox/sharepoint/tenant/describe-library.ts";
import { Tenant } from "../../src/sandbox/sharepoint/tenant/tenant.ts";

const tenant = new Tenant();
seedTenant(tenant, "company");

function contentOf(path: string): Buffer {
  const item = tenant.itemAt(path);
  assert.ok(item?.kind === "file", `no file at ${path}`);
  return Buffer.from(item.content);
}

async function textOf(path: string): Promise<string> {
  const content = contentOf(path);
  if (path.endsWith(".docx")) {
    const { value, messages } = await mammoth.extractRawText({ buffer: content });
    assert.deepEqual(messages, []);
    return value;
  }
  if (path.endsWith(".pdf")) {
    const { text } = await extractText(await getDocumentProxy(new Uint8Array(content)), { mergePages: true });
    return text;
  }
  return content.toString();
}

describe("every document can be read", () => {
  for (const { path, text } of companyDocuments.filter((each) => !["logo", "drawings"].includes(each.text))) {
    test(path, async () => {
      const words = (await textOf(path)).split(/\s+/).length;
      assert.ok(words >= 200 && words <= 900, `${words} words in ${text}`);
    });
  }
});

test("headings, lists and tables survive in Word", async () => {
  const { value } = await mammoth.convertToHtml({
    buffer: contentOf("/sites/demo/Shared Documents/Policies/Information Security.docx"),
  });
  assert.match(value, /^<h1>Information Security Policy<\/h1>/);
  assert.match(value, /<h2>Incidents<\/h2>/);
  assert.match(value, /<table>.*<td><p>Strictly confidential<\/p><\/td>/);
  const travel = await mammoth.convertToHtml({
    buffer: contentOf("/sites/demo/Shared Documents/Policies/Travel.docx"),
  });
  assert.match(travel.value, /<ul><li>Trips up to 1,500 euros in total: the line manager\.<\/li>/);
});

test("a long PDF has several pages, umlauts and quotes included", async () => {
  const pdf = await getDocumentProxy(
    new Uint8Array(contentOf("/sites/demo/Shared Documents/Engineering/Dray Assembly Manual.pdf")),
  );
  assert.ok(pdf.numPages >= 2);
  assert.match(await textOf("/sites/demo/Contracts/Lease Bremen Plant.pdf"), /assembly lines' foundations/);
});

test("there are formats an index refuses, and names that hurt", () => {
  const paths = companyDocuments.map(({ path }) => path);
  assert.deepEqual(
    [...contentOf("/sites/demo/Shared Documents/Sales/Tidewheel Logo.png").subarray(0, 4)],
    [0x89, 0x50, 0x4e, 0x47],
  );
  assert.equal(
    contentOf("/sites/demo/Shared Documents/Engineering/Dray CAD 2026-03.zip").subarray(0, 2).toString(),
    "PK",
  );
  for (const part of ["It's #1 & 100% + 😀.docx", "Überstundenregelung.docx", "カーゴバイク市場調査.docx"]) {
    assert.ok(
      paths.some((path) => path.endsWith(part)),
      part,
    );
  }
});

const answers = [
  /In Copenhagen, London, Paris and Zurich the limit is 190 euros/,
  /Rear axle nut .* 40 Nm/,
  /5 hours and 40 minutes/,
];
for (const [at, { question, expectedPath }] of demoQuestions.entries()) {
  test(`the answer is where it should be: ${question}`, async () => {
    assert.match(await textOf(expectedPath), answers[at] ?? /^$/);
  });
}

test("the list of suppliers has rows of every kind of column, and two files", () => {
  const list = tenant.libraryAt("/sites/demo/Lists/Suppliers");
  assert.equal(list.rows.length, 12);
  const used = new Set(list.rows.flatMap((row) => [...row.columns.keys()]));
  assert.deepEqual(
    [...list.columns.keys()].filter((name) => !used.has(name)),
    [],
  );
  const attached = list.rows.flatMap((row) => (row.kind === "row" ? [...row.attachments.values()] : []));
  assert.deepEqual(
    attached.map((file) => file.name),
    ["Certificate UN 38.3 BP-625.txt", "Claim Q-2026-014.md"],
  );
});

test("of the site pages one is only a draft, and one has a draft on top", () => {
  const versions = describeLibrary(tenant, "/sites/demo/SitePages").map(({ path, version }) => [
    path.split("/").at(-1),
    version,
  ]);
  assert.deepEqual(
    versions.filter(([, version]) => !version?.endsWith(".0")),
    [
      ["Canteen-Bremen.aspx", "1.1"],
      ["Summer-Party-2026.aspx", "0.1"],
    ],
  );
  assert.equal(versions.length, 8, "seven pages and the folder of the template");
});

test("times are the documents' own, and a second seeding gives the same tenant", () => {
  const again = new Tenant();
  seedTenant(again, "company");
  for (const path of tenant.sites.flatMap((site) => site.libraries.map((library) => library.path))) {
    assert.deepEqual(describeLibrary(again, path), describeLibrary(tenant, path));
  }
  const travel = describeLibrary(tenant, "/sites/demo/Shared Documents").find(({ path }) =>
    path.endsWith("Travel.docx"),
  );
  assert.equal(travel?.modifiedAt, "2025-12-15T10:12:31Z");
});
