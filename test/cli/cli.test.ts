// The commands print help, explain bad input, run the demo, and crawl and query.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { demoQuestions, folderQuestion, siteQuestion } from "../../src/sandbox/seed/demo.ts";
import { DOMAIN, World } from "../engine/world.ts";
import type { Called } from "./call-here.ts";
import { runCommand } from "./run-command.ts";
import { startCommands } from "./start-commands.ts";

const folder = await mkdtemp(join(tmpdir(), "lockstep-cli-"));
const commands = startCommands(() => folder);
after(async () => {
  await commands.end();
  await rm(folder, { recursive: true, force: true });
});

function run(args: readonly string[], settings: Readonly<Record<string, string>> = {}): Promise<Called> {
  return runCommand(folder, args, settings);
}

test("--help everywhere", async () => {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  assert.equal((await run(["--version"])).out, `${version}\n`);
  const overview = await run(["--help"]);
  assert.equal(overview.code, 0);
  for (const name of [
    "serve",
    "crawl",
    "download",
    "process",
    "embed",
    "cleanup-metadata",
    "query",
    "sandbox",
    "demo",
  ]) {
    assert.match(overview.out, new RegExp(`^  ${name} `, "m"));
    const help = await commands.call([name, "--help"]);
    assert.equal(help.code, 0);
    assert.match(help.out, new RegExp(`Usage: lockstep ${name}`));
  }
});

const wrong: [args: string[], settings: Record<string, string>, sentence: RegExp][] = [
  [["frob"], {}, /no command 'frob'/],
  [["crawl"], {}, /Usage: lockstep crawl DOMAIN/],
  [["crawl", "../x"], {}, /'domain_id' must be .*got '\.\.\/x'/],
  [["crawl", "NOPE"], {}, /Domain 'NOPE' does not exist/],
  [["crawl", "DEMO", "--mode", "fast"], {}, /Invalid value 'fast' for --mode\. Accepted: full, incremental\./],
  [["crawl", "DEMO", "--dryrun"], {}, /--dryrun.*takes: .*--dry-run/s],
  [["download", "DEMO", "--vector-store", "vs_1"], {}, /--vector-store.*'download' takes: /s],
  [["embed", "DEMO", "--vector-store", "../x"], {}, /'vector_store_id' must be .*got '\.\.\/x'/],
  [["process", "DEMO", "--retry-batches", "11"], {}, /Invalid value '11' for --retry-batches\. Accepted: 1, 2,/],
  [["cleanup-metadata", "NOPE"], {}, /Domain 'NOPE' does not exist/],
  [["generations", "DEMO", "--rollback", "-1"], {}, /--rollback needs a value \(number\); what follows it begins with/],
  [["generations", "DEMO", "--rollback"], {}, /--rollback needs a value \(number\)\. 'generations' takes: /],
  [["query", "DEMO", " "], {}, /Say what to search for/],
  [["query", "DEMO", "x", "--results", "0"], {}, /Accepted: 1 to 50/],
  [["sandbox", "--port", "99999"], {}, /Accepted: 0 to 65535/],
  [["serve"], { PORT: "x", OPENAI_SERVICE_TYPE: "magic" }, /2 problems:\n- .*\n- /],
  [["serve"], { HOST: "0.0.0.0" }, /no authentication/],
  [["crawl", "DEMO"], { PERSISTENT_STORAGE_PATH: "/dev/null/x" }, /PERSISTENT_STORAGE_PATH cannot be used.*ENOTDIR/],
  [["query", "DEMO", "x"], { PERSISTENT_STORAGE_PATH: "/proc/x/y" }, /PERSISTENT_STORAGE_PATH cannot be used/],
];
for (const [args, settings, sentence] of wrong) {
  test(`bad input gets a sentence: ${args.join(" ")} ${Object.entries(settings).join()}`, async () => {
    const { code, out, err } = await commands.call(args, settings);
    assert.equal(code, 2);
    assert.match(err, sentence);
    assert.doesNotMatch(err + out, /\n\s+at /, "no stack trace");
  });
}

test("the demo answers from documents that the sandbox really holds, also the second time, beside the settings of a tenant", async () => {
  // The second tenant has another address for sure, so every link leads elsewhere.
  const [first, second] = await twoFreePorts();
  const { code, out, err } = await run(["demo", "--once"], { SANDBOX_PORT: String(first) });
  assert.equal(err, "");
  assert.equal(code, 0);
  assert.equal(demoQuestions.length, 3);
  for (const { question, expectedPath } of [...demoQuestions, siteQuestion, folderQuestion]) {
    const answer = out.slice(out.indexOf(question)).split("\n▶")[0] ?? "";
    const best = /(?:http|file):\/\/\S+/.exec(answer)?.[0] ?? "";
    // Files of a folder have no address that a browser opens, so theirs is a page of ours.
    const expected = question === folderQuestion.question ? "/v2/documents/read" : expectedPath;
    assert.ok(decodeURIComponent(new URL(best).pathname).endsWith(expected), `${question}: ${best}`);
    assert.match(answer, /source checked (less than a minute|\d minutes?) ago/);
  }
  assert.ok(existsSync(join(folder, "storage/demo/crawler/DEMO/01_files/documents/files_map.csv")));
  assert.ok(existsSync(join(folder, "storage/demo/crawler/DEMO/ledger.sqlite")));
  assert.match(out, /tidies up the shared drive[^▶]*\b1 moved[^▶]*\n▶/, "a rename is a move");
  assert.match(out, /Listed 31 items: 29 added/);
  assert.match(
    out,
    /▶ Do sources, mirror, index and search say the same\?[^▶]*\n {3}DEMO: agrees; 6 sources, \d+ documents\n {3}Certificate domains\/DEMO\/certificates\/\S+\.json\n {3}sha256:[0-9a-f]{64}, signed by SHA256:\S+\n$/,
    "it ends by verifying itself",
  );

  const again = await run(["demo", "--once"], {
    PERSISTENT_STORAGE_PATH: join(folder, "storage/demo"),
    SANDBOX_PORT: String(second),
    CRAWLER_TENANT_ID: "contoso.onmicrosoft.com",
    CRAWLER_CLIENT_CERTIFICATE_PFX_FILE: "real.pfx",
    CRAWLER_CLIENT_CERTIFICATE_PASSWORD: "hunter2",
  });
  assert.equal(again.err, "");
  assert.equal(again.code, 0);
  assert.match(again.out, /Listed 31 items: 29 moved/);
});

test("the demo leaves a domain alone that is not its own", async () => {
  const storage = await mkdtemp(join(folder, "kept-"));
  const path = join(storage, "domains", "DEMO", "domain.json");
  await mkdir(dirname(path), { recursive: true });
  const source = { source_id: "docs", site_url: "https://contoso.sharepoint.com", sharepoint_url_part: "/Documents" };
  for (const file_sources of [[source], []]) {
    const text = JSON.stringify({ name: "Ours", file_sources });
    await writeFile(path, text);
    const { code, err } = await run(["demo", "--once"], { PERSISTENT_STORAGE_PATH: storage });
    assert.match(err, /^lockstep: The domain 'DEMO' in .* was not made by the demo/);
    assert.equal(code, 2);
    assert.equal(await readFile(path, "utf8"), text);
  }
});

async function twoFreePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()];
  await Promise.all(servers.map((server) => once(server.listen(0, "127.0.0.1"), "listening")));
  const [first, second] = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return [first ?? 0, second ?? 0];
}

test("crawl and query from the command line, plain lines in a pipe, settings from .env", async (t) => {
  const world = await World.open();
  t.after(() => world.close());
  await world.change("add", { path: "a.txt", text: "The axolotl budget is 12 euros." });
  await writeFile(
    join(folder, ".env"),
    Object.entries(world.settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(""),
  );
  const first = await run(["crawl", DOMAIN]);
  assert.equal(first.err, "");
  assert.equal(first.code, 0);
  assert.match(first.out, /^\[ 1 \/ 1 \] Downloaded 'a\.txt'/m);
  assert.match(first.out, /^docs: files 1 added; index 1 added$/m);
  assert.ok(!first.out.includes("\u001b"), "no escape sequences in a pipe");
  const found = await run(["query", DOMAIN, "axolotl budget"]);
  assert.equal(found.code, 0);
  assert.match(found.out, /1\. a\.txt[\s\S]*12 euros[\s\S]*Shared%20Documents\/a\.txt/);
  const dry = await run(["crawl", DOMAIN, "--dry-run", "--mode", "full", "--source", "docs"]);
  assert.match(dry.out, /CHANGED 'a\.txt': full crawl/);
  const missing = await run(["crawl", DOMAIN, "--source", "nope"]);
  assert.equal(missing.code, 2);
  assert.match(missing.err, /Source 'nope' does not exist in domain 'STORY'\. It has: 'docs'\./);
  await rm(join(folder, ".env"));
});
