// Bad requests to the control API get a sentence.
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { control, type JsonObject, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const root = "/sites/demo/Shared Documents";

beforeEach(() => sandbox.state.reset("empty"));

async function stateOf(library: string): Promise<JsonObject[]> {
  const answer = await control(sandbox, "GET", `state?library=${encodeURIComponent(library)}`);
  return answer.body["items"] as JsonObject[];
}

describe("bad requests get a sentence", () => {
  const cases: [string, string, unknown, number, RegExp][] = [
    ["POST", "add", "{not json", 400, /^The body must be a JSON object\.$/],
    ["POST", "add", [], 400, /^The body must be a JSON object\.$/],
    ["POST", "add", {}, 400, /^'path' is missing\.$/],
    ["POST", "add", { path: `${root}/a.txt` }, 400, /either 'text' or 'base64'/],
    ["POST", "add", { path: `${root}/a.txt`, text: "x", base64: "eA==" }, 400, /either 'text' or 'base64'/],
    ["POST", "add", { path: `${root}/a.txt`, base64: "***" }, 400, /^'base64' is not base64\.$/],
    ["POST", "add", { path: `${root}/a.txt`, text: "x", att: "2024" }, 400, /^'att' is not known here\.$/],
    ["POST", "add", { path: 7, text: "x" }, 400, /^'path' must be a text\.$/],
    ["POST", "add", { path: `${root}/a.txt`, text: "x", columns: { A: {} } }, 400, /Column 'A' must hold/],
    ["POST", "add", { path: `${root}/a.txt`, text: "x", at: "soon" }, 400, /ISO 8601/],
    [
      "POST",
      "rename",
      { path: `${root}/a.txt`, name: "b.txt", via: "magic" },
      400,
      /'via' must be one of move-to, graph; got 'magic'/,
    ],
    ["POST", "delete", { path: `${root}/none.txt` }, 404, /^Find item '.*none\.txt': it does not exist\.$/],
    ["POST", "fill", { path: root }, 400, /^'count' is missing\.$/],
    ["POST", "fill", { path: root, count: 1.5 }, 400, /whole number/],
    ["POST", "fly", {}, 404, /There is no 'POST fly' here/],
    ["GET", "add", undefined, 404, /There is no 'GET add' here/],
    ["GET", "state", undefined, 400, /^'library' is missing/],
    ["GET", "state?library=/sites/demo/None", undefined, 404, /there is none at this path/],
    ["DELETE", "faults?id=7", undefined, 404, /^Clear fault '7': there is none of this id\.$/],
    ["POST", "clock", { at: "never" }, 400, /ISO 8601/],
    ["POST", "reset", { seed: "moon" }, 400, /'seed' must be one of company, empty; got 'moon'/],
    ["POST", "settings", { rangeRequests: "maybe" }, 400, /honoured, ignored/],
    ["POST", "faults", {}, 400, /'effect' is missing/],
    ["POST", "faults", { effect: {} }, 400, /'effect' says nothing/],
    ["POST", "faults", { match: { url: "(" }, effect: { status: 500 } }, 400, /no regular expression/],
    ["POST", "faults", { match: { nth: 0 }, effect: { status: 500 } }, 400, /'nth' must be a whole number from 1/],
    [
      "POST",
      "faults",
      { match: { times: "often" }, effect: { status: 500 } },
      400,
      /'times' must be a number or "always"/,
    ],
    ["POST", "faults", { effect: { status: 99 } }, 400, /from 200 to 599/],
    ["POST", "faults", { effect: { run: [{ operation: "fly" }] } }, 400, /Each of 'run' names an 'operation'/],
  ];
  for (const [method, path, body, status, message] of cases) {
    test(`${method} ${path} ${JSON.stringify(body)}`, async () => {
      const answer = await control(sandbox, method, path, body);
      assert.equal(answer.status, status);
      assert.match(String(answer.body["error"]), message);
      assert.deepEqual(await stateOf(root), [], "nothing was changed");
    });
  }

  test("a web page from elsewhere cannot steer it", async () => {
    const response = await fetch(`${sandbox.url}/_sandbox/reset`, {
      method: "POST",
      headers: { Origin: "https://example.com" },
    });
    assert.equal(response.status, 400);
  });
});
