// The official conformance suite of the Model Context Protocol passes at /mcp, but for what stands in a list with reasons.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { type McpWorld, openMcpWorld } from "./mcp-world.ts";

const SUITE = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));
const EXPECTED = fileURLToPath(new URL("mcp-expected-failures.yml", import.meta.url));

/** What must pass, whatever stands in the list. */
const MUST_PASS: Readonly<Record<string, readonly string[]>> = {
  "2025-11-25": ["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"],
  "2026-07-28": [
    "tools-list",
    "resources-list",
    "dns-rebinding-protection",
    "server-sse-multiple-streams",
    "sep-2164-resource-not-found",
    "http-header-validation",
  ],
};

describe("the conformance suite of the Model Context Protocol", () => {
  let world: McpWorld;
  before(async () => {
    world = await openMcpWorld();
  });
  after(() => world.close());

  for (const [revision, scenarios] of Object.entries(MUST_PASS)) {
    it(`passes for ${revision}, but for what is listed`, async () => {
      const { code, out } = await run(world.url, revision);
      assert.equal(code, 0, out);
      for (const scenario of scenarios) assert.match(out, new RegExp(`✓ ${scenario}: [1-9]\\d* passed, 0 failed`), out);
    });
  }

  it("lists what fails with a reason a line", () => {
    const lines = readFileSync(EXPECTED, "utf8").split("\n");
    const entries = lines.filter((line) => line.startsWith("  - "));
    assert.ok(entries.length > 10);
    for (const entry of entries) assert.match(entry, /^ {2}- [\w:-]+ # \S.{5,}/);
    const excused = entries.map((entry) => entry.slice(4).split(" ")[0]);
    for (const scenario of Object.values(MUST_PASS).flat()) assert.ok(!excused.includes(scenario), scenario);
    // Of these only single checks.
    for (const scenario of ["server-stateless", "caching"]) assert.ok(!excused.includes(scenario), scenario);
  });
});

async function run(url: string, revision: string): Promise<{ code: number; out: string }> {
  const args = ["server", "--url", `${url}/mcp`, "--requirements", revision, "--expected-failures", EXPECTED];
  const child = spawn(process.execPath, [SUITE, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const [[code], out] = await Promise.all([once(child, "close"), text(child.stdout)]);
  return { code: code as number, out };
}
