// What a plan costs: estimates from sizes, and money by the price table, which never pretends to know a price.
import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateFileTokens, estimateMoney, type PlanNeeds, type Pricing } from "../../src/plan/plan-costs.ts";

const NEEDS: PlanNeeds = { bytesToFetch: 1e9, documents: 1000, tokens: 10_000_000, unsized: 0 };
const TABLE = { dollars: new Map<string, number>(), asOf: "July 2026, example.com" };
const words = (pricing: Pricing, needs = NEEDS, table = TABLE) => estimateMoney(needs, pricing, table).words;

test("a token is some four bytes of text, and more of what is packed", () => {
  assert.equal(estimateFileTokens("md", 4000), 1000);
  assert.equal(estimateFileTokens("", 4000), 1000);
  assert.equal(estimateFileTokens("docx", 25_000), 1000);
  assert.equal(estimateFileTokens("md", 0), 0);
});

test("what is embedded here costs no money, whatever the table says", () => {
  assert.deepEqual(estimateMoney(NEEDS, { kind: "none" }, TABLE), {
    dollars: null,
    every: "",
    words: "none: documents are embedded on this machine",
  });
});

test("a model is paid by the token, once; the estimate says when its price was true", () => {
  const small: Pricing = { kind: "tokens", model: "small", dollarsPerMillion: 0.02 };
  const { dollars, every } = estimateMoney(NEEDS, small, TABLE);
  assert.deepEqual([dollars, every], [0.2, "once"]);
  assert.equal(
    words(small),
    "about $0.2, once, for embedding with 'small' (prices as of July 2026, example.com; check yours)",
  );
  assert.match(words(small, NEEDS, { ...TABLE, asOf: "" }), /\(prices as set in OPENAI_PRICES\)$/);
  assert.match(words(small, { ...NEEDS, tokens: 3 }), /^about less than \$0\.0001, once/);
  assert.match(words({ ...small, dollarsPerMillion: 0.13 }, { ...NEEDS, tokens: 1e8 }), /^about \$13\.00, once/);
});

test("a vector store is paid by the day for what it holds; embedding there is not paid apart", () => {
  const store: Pricing = { kind: "storage", dollarsPerGigabyteDay: 0.1 };
  const { dollars, every } = estimateMoney(NEEDS, store, TABLE);
  assert.equal(every, "day");
  // 10 million tokens in passages that overlap by half: some 100 MB.
  assert.ok(dollars !== null && dollars > 0.008 && dollars < 0.012, String(dollars));
  assert.match(
    words(store),
    /^at most about \$0\.0098 a day for storage, .* embedding has no price of its own \(prices as/,
  );
});

test("a price that nobody set is unknown, and nothing to embed costs nothing", () => {
  const none: Pricing = { kind: "tokens", model: "mine", dollarsPerMillion: undefined };
  assert.equal(words(none), "unknown: OPENAI_PRICES has none for the model 'mine'");
  assert.match(words({ kind: "storage", dollarsPerGigabyteDay: undefined }), /^unknown: .*'vector_store_gb_day'/);
  assert.equal(words(none, { ...NEEDS, documents: 0, tokens: 0 }), "none: nothing is embedded");
});
