// `lockstep mcp` serves a client on standard input and output: nothing else is written there, and it ends with its client.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { holdServerLock } from "../../src/app/hold-server-lock.ts";
import type { Reading } from "../http/ask.ts";
import { CLIENTS, type Reach } from "../http/mcp-clients.ts";
import { type McpWorld, openMcpWorld } from "../http/mcp-world.ts";
import { startCommand } from "./run-command.ts";

const PROGRAM = fileURLToPath(new URL("../../bin/lockstep.mjs", import.meta.url));

describe("lockstep mcp", () => {
  let world: McpWorld;
  let lock: { release(): void } | undefined;
  const settings = (): Record<string, string> => ({
    PERSISTENT_STORAGE_PATH: world.app.config.storagePath,
    PUBLIC_URL: "https://kb.example",
    // Warnings must not go where the protocol is spoken.
    OPENAI_MODEL_NAME_THAT_IS_NONE: "1",
    CRAWLER_NO_SUCH_SETTING: "1",
  });
  before(async () => {
    world = await openMcpWorld();
    // As `lockstep serve` does on this storage.
    lock = await holdServerLock(world.app.config, { waitMs: 0, log: () => undefined, signal: AbortSignal.abort() });
  });
  after(async () => {
    lock?.release();
    await world.close();
  });

  for (const [name, open] of Object.entries(CLIENTS)) {
    it(`serves ${name} while a server holds the storage, and tells it of changes`, async () => {
      const cwd = world.folder("HR");
      const reach: Reach = {
        command: process.execPath,
        args: [PROGRAM, "mcp"],
        env: { HOME: cwd, ...settings() },
        cwd,
      };
      const client = await open(reach);
      try {
        assert.deepEqual(client.capabilities["resources"], { listChanged: true, subscribe: true });
        const found = await client.call("search", { query: "vacation days" });
        const [hit] = found.data["results"] as unknown as Reading[];
        assert.match(String(hit?.["url"]), /^https:\/\/kb\.example\/v2\/documents\/read\?/);
        const read = await client.call("fetch", { id: String(hit?.["id"]) });
        assert.match(String(read.data["text"]), /30 vacation days/);
        const { resources } = await client.resources();
        const laptops = (resources as unknown as Reading[]).find((one) => String(one["name"]) === "laptops.md");
        const uri = String(laptops?.["uri"]);
        const noticed = new Set<string>();
        let wake = (): void => undefined;
        await client.listen([uri], (notice) => {
          noticed.add(notice);
          wake();
        });
        await world.write("IT", "laptops.md", `# Laptops\n\nFor ${name}.\n`);
        await world.crawl("IT");
        while (!noticed.has("list") || !noticed.has(uri)) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        assert.match(String((await client.read(uri))["contents"]?.[0]?.["text"]), new RegExp(`For ${name}`));
      } finally {
        await client.close();
      }
    });
  }

  it("writes messages to standard output and nothing else, also when asked for nonsense", async () => {
    const child = startCommand(world.folder("HR"), ["mcp"], settings());
    const err = text(child.stderr);
    const say = (message: unknown): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    say({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    say({ jsonrpc: "2.0", method: "notifications/initialized" });
    child.stdin.write("this is no message\n");
    say({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "fetch", arguments: { id: "x" } } });
    say({ jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "search", arguments: { query: "hotels" } } });
    let seen = "";
    const answered = new Promise<void>((resolve) => {
      child.stdout.on("data", (chunk: Buffer) => {
        seen += chunk.toString();
        if (/"id":3\b/.test(seen) && seen.endsWith("\n")) resolve();
      });
    });
    await answered;
    child.stdin.end();
    const [code] = await once(child, "close");
    assert.equal(code, 0);
    const lines = seen.trim().split("\n");
    for (const line of lines) assert.equal((JSON.parse(line) as Reading)["jsonrpc"] as unknown, "2.0");
    assert.match(await err, /Warning: /);
  });

  it("ends with the process that started it, however that ends", async () => {
    const script = `
      const { spawn } = require("node:child_process");
      const child = spawn(process.execPath, [${JSON.stringify(PROGRAM)}, "mcp"], { stdio: ["pipe", "pipe", "ignore", 3] });
      child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }) + "\\n");
      child.stdout.once("data", () => process.stdout.write("it answers\\n"));
      setInterval(() => undefined, 60_000);`;
    const starter = spawn(process.execPath, ["-e", script], {
      cwd: world.folder("HR"),
      env: { HOME: world.folder("HR"), ...settings() },
      stdio: ["ignore", "pipe", "inherit", "pipe"],
    });
    await once(starter.stdout ?? assert.fail(), "data");
    const held = starter.stdio[3] ?? assert.fail();
    // Both have it open; its end is read when the last of them is gone.
    const bothGone = once(held, "close");
    held.on("data", () => undefined);
    starter.kill("SIGKILL");
    await bothGone;
  });
});
