// The icecream examples of the specification behave as it says.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { type AskInit, ask, type Reply } from "./ask.ts";
import { openStand, type Stand } from "./icecream-stand.ts";
import { expand } from "./notation.ts";
import { checkExpected, type Thing } from "./notation-checks.ts";

const ICECREAMS = "L(jhu)C(j)G(jh)U(j)D(jh): `/v2/icecreams` - Icecream stock";
const FLAVOURS = "L(jhu)G(jh): `/v2/icecreams/flavours` - Available icecream flavours";

type Outcome = "documentation" | "json item" | "json list" | "html" | `400 ${string}`;

/** The examples of the specification, one by one; `{id}` is an icecream that is there. */
const EXAMPLES: readonly (readonly [request: string, outcome: Outcome])[] = [
  ["GET /v2/icecreams", "documentation"],
  ["GET /v2/icecreams?format=json", "json list"],
  ["GET /v2/icecreams?format=html", "html"],
  ["GET /v2/icecreams?format=ui", "html"],

  ["GET /v2/icecreams/create", "documentation"],
  ["POST /v2/icecreams/create", "json item"],
  ["POST /v2/icecreams/create?dry_run=true", "json item"],
  ["POST /v2/icecreams/create?format=json", "json item"],
  ["POST /v2/icecreams/create?format=html", "400 Format 'html' not supported."],
  ["PUT /v2/icecreams/create", "400 HTTP method 'PUT' not supported."],

  ["GET /v2/icecreams/get", "documentation"],
  ["GET /v2/icecreams/get?icecream_id={id}", "json item"],
  ["GET /v2/icecreams/get?icecream_id={id}&format=json", "json item"],
  ["GET /v2/icecreams/get?icecream_id={id}&format=html", "html"],
  ["GET /v2/icecreams/get?icecream_id={id}&format=ui", "400 Format 'ui' not supported."],
  ["GET /v2/icecreams/get?icecream_id={id}&format=stream", "400 Format 'stream' not supported."],
  ["GET /v2/icecreams/get?format=json", "400 Missing 'icecream_id'."],
  ["GET /v2/icecreams/get?format=ui", "400 Format 'ui' not supported."],

  ["GET /v2/icecreams/update", "documentation"],
  ["PUT /v2/icecreams/update", "json item"],
  ["PUT /v2/icecreams/update?format=json", "json item"],
  ["PUT /v2/icecreams/update?icecream_id={id}", "json item"],
  ["PUT /v2/icecreams/update?format=html", "400 Format 'html' not supported."],
  ["POST /v2/icecreams/update", "400 HTTP method 'POST' not supported."],
  ["PATCH /v2/icecreams/update", "400 HTTP method 'PATCH' not supported."],

  ["GET /v2/icecreams/delete", "documentation"],
  ["DELETE /v2/icecreams/delete?icecream_id={id}", "json item"],
  ["GET /v2/icecreams/delete?icecream_id={id}", "json item"],
  ["DELETE /v2/icecreams/delete?icecream_id={id}&format=json", "json item"],
  ["GET /v2/icecreams/delete?icecream_id={id}&format=json", "json item"],
  ["DELETE /v2/icecreams/delete?icecream_id={id}&format=html", "html"],
  ["GET /v2/icecreams/delete?icecream_id={id}&format=html", "html"],
  ["DELETE /v2/icecreams/delete?icecream_id={id}&format=stream", "400 Format 'stream' not supported."],
  ["GET /v2/icecreams/delete?icecream_id={id}&format=stream", "400 Format 'stream' not supported."],
  ["PATCH /v2/icecreams/delete?icecream_id={id}", "400 HTTP method 'PATCH' not supported."],

  ["GET /v2/icecreams/flavours", "documentation"],
  ["GET /v2/icecreams/flavours?format=json", "json list"],
  ["GET /v2/icecreams/flavours?format=html", "html"],
  ["GET /v2/icecreams/flavours?format=ui", "html"],
  ["GET /v2/icecreams/flavours/get", "documentation"],
  ["GET /v2/icecreams/flavours/get?flavour_id=vanilla", "json item"],
  ["GET /v2/icecreams/flavours/get?flavour_id=vanilla&format=json", "json item"],
  ["GET /v2/icecreams/flavours/get?flavour_id=vanilla&format=html", "html"],
];

describe("the icecream examples of the specification", () => {
  let stand: Stand;
  let made = 0;
  const make = async (): Promise<string> => {
    const id = `ice_${++made + 1000}`;
    stand.stock.set(id, { icecream_id: id, name: "Vanilla" });
    return id;
  };
  before(async () => {
    stand = await openStand();
  });
  beforeEach(() => stand.stock.clear());
  after(() => stand.close());

  for (const [request, outcome] of EXAMPLES) {
    it(`${request} -> ${outcome}`, async () => {
      const [method = ""] = request.split(" ");
      const changes = /\/(create|update|delete)/.test(request) && !request.includes("dry_run") && method !== "PATCH";
      for (const how of method === "POST" || method === "PUT" ? (["json", "form"] as const) : (["none"] as const)) {
        const id = await make();
        const fields = { name: "Berry", ...(request.includes("/update") && { icecream_id: id }) };
        const init: AskInit = how === "json" ? { json: fields } : how === "form" ? { form: fields } : {};
        const before = JSON.stringify([...stand.stock]);
        const reply = await ask(stand.url, request.replace("{id}", id), init);
        assertOutcome(reply, outcome);
        const did = changes && (outcome === "json item" || (outcome === "html" && request.includes("delete")));
        assert.equal(JSON.stringify([...stand.stock]) !== before, did, "what changed");
      }
    });
  }

  it("lists are sorted, filtered and come in parts", async () => {
    for (const [id, name] of Object.entries({ a2: "Nut", a10: "Berry", b1: "nutmeg <b>" })) {
      stand.stock.set(id, { icecream_id: id, name });
    }
    const list = async (query: string): Promise<{ ids: string; page: unknown }> => {
      const { json } = await ask(stand.url, `GET /v2/icecreams?${query}`);
      const rows = json["data"] as unknown as { icecream_id: string }[];
      return { ids: rows.map(({ icecream_id }) => icecream_id).join(" "), page: json["page"] };
    };
    assert.deepEqual(await list("sort=icecream_id"), { ids: "a2 a10 b1", page: undefined });
    assert.deepEqual(await list("sort=-name&format=json"), { ids: "b1 a2 a10", page: undefined });
    assert.deepEqual(await list("filter=NUT"), { ids: "a2 b1", page: undefined });
    const page = { offset: 1, limit: 1, total: 2, more: false };
    assert.deepEqual(await list("filter=nut&limit=1&offset=1"), { ids: "b1", page });
    assert.deepEqual((await list("limit=2")).page, { offset: 0, limit: 2, total: 3, more: true });
    assert.deepEqual(await list("offset=7"), { ids: "", page: { offset: 7, limit: 3, total: 3, more: false } });
    for (const [query, name] of [
      ["limit=0", "limit"],
      ["limit=1001", "limit"],
      ["offset=-1", "offset"],
      ["sort=colour", "sort"],
      ["sort=--name", "sort"],
    ]) {
      const { status, json } = await ask(stand.url, `GET /v2/icecreams?${query}`);
      assert.equal(status, 400, query);
      assert.match(String(json["error"]), new RegExp(`^'${name}' must be `));
    }
  });

  const icecream: Thing = {
    idName: "icecream_id",
    make,
    create: (serial) => ({ name: `Berry ${serial}` }),
    update: { name: "Lemon" },
  };
  for (const expected of expand(ICECREAMS)) checkExpected(() => stand.url, expected, icecream);
  const flavour: Thing = { idName: "flavour_id", make: async () => "vanilla" };
  for (const expected of expand(FLAVOURS)) checkExpected(() => stand.url, expected, flavour);
});

function assertOutcome(reply: Reply, outcome: Outcome): void {
  if (outcome.startsWith("400 ")) {
    assert.equal(reply.status, 400);
    assert.deepEqual(reply.json, { ok: false, error: outcome.slice(4), data: {} });
    return;
  }
  assert.equal(reply.status, 200, reply.text);
  if (outcome === "documentation") {
    assert.equal(reply.type, "text/plain");
    assert.match(reply.text, /^\/v2\/icecreams/);
  } else if (outcome === "html") {
    assert.equal(reply.type, "text/html");
  } else {
    assert.equal(reply.type, "application/json");
    const { ok, error, data } = reply.json;
    assert.deepEqual([ok, error, Array.isArray(data)], [true, "", outcome === "json list"]);
  }
}
