/**
 * Runs the commands of README.md as a newcomer would, from a clone to a cited answer out of a folder of 700 files, in the official
 * client of OpenAI and in a client of MCP: `node scripts/first-answer.ts`. Prints what took how long; fails beyond three minutes.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import OpenAI from "openai";
import { isJsonObject } from "../src/lib/json-object.ts";

const ROOT = resolve(import.meta.dirname, "..");
const FILES = 700;
const LIMIT_SECONDS = 180;
const QUESTION = "How long is the warranty of the kiln?";
const ANSWER = "The warranty of the kiln lasts seven years.";

const home = await mkdtemp(join(tmpdir(), "lockstep-first-answer-"));
const checkout = join(home, "lockstep");
// As on a machine without settings; packages may come out of npm's cache.
const { PATH = "", npm_config_cache = `${process.env["HOME"]}/.npm` } = process.env;
const env = { PATH, HOME: home, PORT: "0", npm_config_cache, npm_config_prefer_offline: "true" };
let lap = 0;

try {
  await writeNotes(join(home, "notes"));
  const begun = performance.now();
  lap = begun;
  await run(`git clone --quiet ${JSON.stringify(ROOT)} ${JSON.stringify(checkout)}`, home);
  const readme = await readFile(join(checkout, "README.md"), "utf8");
  // `-- --once` ends the demo, which serves otherwise.
  await run(`${commandIn(readme, "npm ci")} -- --once`, checkout);
  await tryNotes(commandIn(readme, "npx lockstep try"));
  const seconds = (lap - begun) / 1000;
  process.stdout.write(`${seconds.toFixed(1).padStart(6)} s  in all, of ${LIMIT_SECONDS}\n`);
  if (seconds > LIMIT_SECONDS) process.exitCode = 1;
} finally {
  await rm(home, { recursive: true, force: true });
}

function commandIn(readme: string, beginning: string): string {
  const line = readme.split("\n").find((one) => one.startsWith(`    ${beginning}`));
  return line?.trim() ?? assert.fail(`README.md has no command that begins with '${beginning}'`);
}

function start(command: string, cwd: string) {
  return spawn("sh", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "inherit"], detached: true });
}

async function run(command: string, cwd: string): Promise<void> {
  const child = start(command, cwd);
  child.stdout.resume();
  const [code] = await once(child, "exit");
  assert.equal(code, 0, command);
  tell(command.replaceAll(home, "~"));
}

function tell(what: string): void {
  const seconds = (performance.now() - lap) / 1000;
  lap = performance.now();
  process.stdout.write(`${seconds.toFixed(1).padStart(6)} s  ${what}\n`);
}

async function tryNotes(command: string): Promise<void> {
  const child = start(command, checkout);
  try {
    let said = "";
    for await (const line of createInterface({ input: child.stdout })) {
      said += `${line}\n`;
      if (line.startsWith("Crawl again")) break;
    }
    tell(`${command}, ${FILES} files`);
    const [, baseURL = "", model = ""] = /base URL (\S+), model (\S+)/.exec(said) ?? assert.fail(said);
    await askByChat(baseURL, model);
    tell("answer in the client of OpenAI");
    await askByMcp(JSON.parse(/MCP clients +(\{.*)/.exec(said)?.[1] ?? "").mcpServers.lockstep.url);
    tell("answer in a client of MCP");
  } finally {
    if (child.pid !== undefined && child.exitCode === null) {
      process.kill(-child.pid, "SIGTERM");
      await once(child, "exit");
    }
  }
}

async function askByChat(baseURL: string, model: string): Promise<void> {
  const client = new OpenAI({ baseURL, apiKey: "none" });
  const { choices } = await client.chat.completions.create({ model, messages: [{ role: "user", content: QUESTION }] });
  const { content, annotations } = choices[0]?.message ?? {};
  const { start_index, end_index, url } = annotations?.[0]?.url_citation ?? assert.fail(`no citation: ${content}`);
  assert.equal(content?.slice(start_index, end_index), ANSWER);
  assert.ok((await (await fetch(url)).text()).includes(ANSWER), `${url} does not show it`);
}

async function askByMcp(url: string): Promise<void> {
  const client = new Client({ name: "first-answer", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const found = (await client.callTool({ name: "search", arguments: { query: QUESTION } })).structuredContent;
  const [hit] = isJsonObject(found) && Array.isArray(found["results"]) ? found["results"] : [];
  assert.match(JSON.stringify(hit), new RegExp(ANSWER));
  const read = await client.callTool({ name: "fetch", arguments: { id: hit.id } });
  assert.match(JSON.stringify(read.structuredContent), new RegExp(ANSWER));
  await client.close();
}

/** Notes as people have them, in three formats. */
async function writeNotes(folder: string): Promise<void> {
  await mkdir(folder);
  const things = ["kiln", "lathe", "press", "crane", "pump", "oven", "drill"];
  for (let number = 1; number < FILES; number += 1) {
    const thing = `${things[number % things.length]} ${number}`;
    const text = `The ${thing} was checked in week ${number % 52}. Its filter is changed every ${(number % 9) + 2} months.`;
    const kinds = [
      [`${number}.md`, `# About the ${thing}\n\n${text}\n`],
      [`${number}.html`, `<title>About the ${thing}</title><p>${text}</p>`],
      [`${number}.csv`, `machine,week\n${thing},${number % 52}\n`],
    ] as const;
    const [name, content] = kinds[number % kinds.length] ?? kinds[0];
    await writeFile(join(folder, name), content);
  }
  await writeFile(join(folder, "warranty.md"), `# Warranties\n\n${ANSWER} The press has none.\n`);
}
