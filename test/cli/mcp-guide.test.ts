// What docs/guides/mcp.md says to paste into clients connects, and finds documents.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { CLIENTS, type McpClient, type Reach } from "../http/mcp-clients.ts";
import { type McpWorld, openMcpWorld } from "../http/mcp-world.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const GUIDE = readFileSync(`${ROOT}/docs/guides/mcp.md`, "utf8");

function snippet(name: string): string {
  const [, text] = new RegExp(`^\`\`\`\\w+ ${name}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(GUIDE) ?? [];
  return text ?? assert.fail(`the guide has no snippet '${name}'`);
}

interface Entry {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
}

function jsonEntry(name: string, key: "servers" | "mcpServers"): Entry {
  const config = JSON.parse(snippet(name)) as Record<string, Record<string, Entry> | undefined>;
  return config[key]?.["lockstep"] ?? assert.fail();
}

describe("the snippets of the guide", () => {
  let world: McpWorld;
  let key = "";
  before(async () => {
    world = await openMcpWorld({ RATE_LIMIT_PER_SECOND: "0" });
    await world.app.access.keys.create({ name: "root", role: "admin", expiresAt: "" });
    key = (await world.app.access.keys.create({ name: "claude", role: "read", expiresAt: "" })).key;
  });
  after(() => world.close());

  /** With the address and the key of this test, and no other change. */
  const here = (text: string): string =>
    text
      .replace("http://127.0.0.1:8000/mcp", `${world.url}/mcp`)
      .replace("https://kb.example.com/mcp", `${world.url}/mcp`)
      .replace(/lk_KEY|\$\{input:lockstep-key\}/, key);
  const connects = async (reach: Reach, names = Object.keys(CLIENTS)): Promise<void> => {
    for (const name of names) {
      const open = CLIENTS[name] ?? assert.fail(name);
      const client: McpClient = await open(reach);
      const { text } = await client.call("search", { query: "vacation days" });
      assert.match(text, /30 vacation days/);
      await client.close();
    }
  };
  const overHttp = (url: string, authorization: string): Promise<void> => {
    assert.ok(here(url).startsWith(`${world.url}/`), url);
    return connects({ url: here(url).replace(/\/mcp$/, ""), headers: { authorization: here(authorization) } });
  };

  it("Claude Desktop starts the command, from any folder", async () => {
    const { command, args, env } = jsonEntry("claude-desktop", "mcpServers");
    const [npx, storage] = [args.map((arg) => arg.replace("/opt/lockstep", ROOT)), world.app.config.storagePath];
    assert.equal(env["PERSISTENT_STORAGE_PATH"], "/var/lib/lockstep");
    const { PATH = "" } = process.env;
    const settings = { PATH, HOME: world.folder("HR"), PERSISTENT_STORAGE_PATH: storage };
    await connects({ command, args: npx, env: settings, cwd: world.folder("IT") }, ["sdk 1.x"]);
  });

  it("Claude Code sends the header", async () => {
    const [, url = "", name = "", value = ""] =
      /--transport http lockstep (\S+) --header "([^:]+): ([^"]+)"/.exec(snippet("claude-code")) ?? [];
    assert.equal(name, "Authorization");
    await overHttp(url, value);
  });

  it("VS Code and Cursor have their own names for the same", async () => {
    for (const entry of [jsonEntry("vs-code", "servers"), jsonEntry("cursor", "mcpServers")]) {
      await overHttp(entry.url, entry.headers["Authorization"] ?? "");
    }
  });

  it("Codex takes http_headers", async () => {
    const toml = snippet("codex");
    const [, url = ""] = /^url = "([^"]+)"$/m.exec(toml) ?? [];
    const [, value = ""] = /^http_headers = \{ "Authorization" = "([^"]+)" \}$/m.exec(toml) ?? [];
    await overHttp(url, value);
  });

  it("OpenAI's service sends `authorization` as a bearer token", async () => {
    const [, url = ""] = /server_url: "([^"]+)"/.exec(snippet("openai")) ?? [];
    const [, token = ""] = /authorization: "([^"]+)"/.exec(snippet("openai")) ?? [];
    await overHttp(url, `Bearer ${token}`);
  });
});
