// Names with characters that turn text around deceive nobody.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BUILT_IN_KINDS } from "../../src/app/source-kinds.ts";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import type { QuerySource } from "../../src/engine/query.ts";
import { toItemViewJson } from "../../src/http/endpoints/item-codec.ts";
import { named } from "../../src/http/inventory/resource-pages.ts";
import { shownName } from "../../src/http/pages/display.ts";
import { ingestItemPage } from "../../src/http/pages/ingest-pages.ts";
import { reportTree } from "../../src/http/pages/report-pages.ts";
import { searchResults } from "../../src/http/pages/search-pages.ts";
import { identifyUrl, USUAL_RULES } from "../../src/plan/web/item-identity.ts";
import { newItem } from "../../src/plan/web/item-state.ts";

/** Reads "report_exe.pdf" where the character is obeyed. */
const DECEIVING = "report_\u202efdp.exe";
const PLAIN = "report_⟨RLO⟩fdp.exe";

describe("a name with characters that turn text around", () => {
  it("shows them; other scripts stay as they are", () => {
    assert.equal(shownName(DECEIVING), PLAIN);
    assert.equal(
      shownName("\u202a\u202b\u202c\u202d\u2066\u2067\u2068\u2069"),
      "⟨LRE⟩⟨RLE⟩⟨PDF⟩⟨LRO⟩⟨LRI⟩⟨RLI⟩⟨FSI⟩⟨PDI⟩",
    );
    for (const name of ["שלום.docx", "تقرير.pdf", "日本.md", "a\u200fb.txt"]) assert.equal(shownName(name), name);
  });

  const source: QuerySource = {
    text: "A passage.",
    sectionPath: DECEIVING,
    score: 1,
    fileId: "file-1",
    domainId: "",
    name: DECEIVING,
    title: DECEIVING,
    url: "https://contoso.sharepoint.com/report.exe",
    webUrl: "https://contoso.sharepoint.com/report.exe",
    checkedAt: "",
    isBehind: false,
    modifiedAt: "",
    attributes: {},
    metadata: null,
    details: null,
  };
  const page = newItem(identifyUrl("https://docs.example.com/", USUAL_RULES), new Date());
  const item = {
    ...page,
    title: DECEIVING,
    http: { ...page.http, etag: DECEIVING },
    scheduling: { ...page.scheduling, errorMessage: DECEIVING },
    history: [{ at: "2026-01-01T00:00:00Z", event: "failed", detail: DECEIVING }],
  };
  const frame = {
    product: { version: "1", backend: "embedded", kinds: BUILT_IN_KINDS },
    principal: undefined,
    url: new URL("http://127.0.0.1/v2/ingest/items/get"),
  };
  const PAGES: readonly [title: string, page: () => unknown][] = [
    ["search", () => searchResults({ query: "x", vectorStoreId: "vs_1" as VectorStoreId, sources: [source] })],
    ["the registry", () => ingestItemPage(toItemViewJson({ item, members: [], images: [] }), frame)],
    ["the inventory", () => named(DECEIVING, "file-1", "/v2/inventory/files/get")],
    [
      "a report",
      () => reportTree({ report_id: "r", files: [{ file_path: `${DECEIVING}/${DECEIVING}`, file_size: 1 }] }),
    ],
  ];
  for (const [title, page] of PAGES) {
    it(`deceives nobody in ${title}`, async () => {
      const shown = String(await page());
      assert.ok(shown.includes(`<bdi>${PLAIN}`) || shown.includes(`>${PLAIN}</a>`), shown);
      assert.doesNotMatch(shown.replaceAll(/href="[^"]*"/g, ""), /\u202e/);
    });
  }
});
