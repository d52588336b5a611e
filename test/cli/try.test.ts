// One command makes a folder searchable and serves it; domains are listed, made, edited and deleted without HTTP.
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { runCommand, startCommand } from "./run-command.ts";
import { startCommands } from "./start-commands.ts";

const folder = await mkdtemp(join(tmpdir(), "lockstep-try-"));
const notes = join(folder, "Meine Notizen");
const commands = startCommands(() => folder);
const run = (...args: string[]) => commands.call(args);

before(async () => {
  await mkdir(join(notes, "empty"), { recursive: true });
  await writeFile(join(notes, "leave.md"), "# Leave\n\nThe sabbatical lasts seven months.\n");
});
after(async () => {
  await commands.end();
  await rm(folder, { recursive: true, force: true });
});

test("a folder is searchable after one command; again, it is the same domain", async () => {
  const first = await runCommand(folder, ["try", notes, "--once", "--port", "0"]);
  assert.equal(first.code, 0, first.err);
  assert.match(first.out, /1 document can be found in domain MEINE_NOTIZEN\./);
  assert.match((await run("query", "MEINE_NOTIZEN", "how long is the sabbatical")).out, /seven months/);
  await writeFile(join(notes, "pay.md"), "# Pay\n\nSalaries arrive on the twenty-fifth.\n");
  const again = await runCommand(folder, ["try", notes, "--once", "--port", "0"]);
  assert.match(again.out, /1 added, 1 unchanged/);
  assert.match(again.out, /2 documents can be found in domain MEINE_NOTIZEN\./);
  assert.match((await run("domains")).out, /^MEINE_NOTIZEN +Meine Notizen: files \(.*Meine Notizen\)\n$/);
});

test("it serves the page and a model of that domain, and says where", async () => {
  const settings = { PERSISTENT_STORAGE_PATH: join(folder, "served") };
  const child = startCommand(folder, ["try", notes, "--port", "0", "--no-open"], settings);
  try {
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (line.startsWith("Crawl again")) break;
    }
    const page = /Ask on the page +(\S+)/.exec(lines.join("\n"))?.[1] ?? assert.fail(lines.join("\n"));
    const html = await (await fetch(`${page}&query=sabbatical`, { headers: { accept: "text/html" } })).text();
    assert.match(html, /seven months/);
    const [, base, model] = /base URL (\S+), model (\S+)/.exec(lines.join("\n")) ?? [];
    const models = (await (await fetch(`${base}/models`)).json()) as { data: { id: string }[] };
    assert.ok(
      models.data.some(({ id }) => id === model),
      JSON.stringify(models),
    );
  } finally {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
});

test("a name with umlauts becomes a readable domain", async () => {
  const place = join(folder, "Größen & Übersicht");
  await mkdir(place);
  await writeFile(join(place, "a.md"), "Size M is 38.\n");
  const { out } = await runCommand(folder, ["try", place, "--once", "--port", "0"], {
    PERSISTENT_STORAGE_PATH: join(folder, "umlauts"),
  });
  assert.match(out, /1 document can be found in domain GROSSEN_UBERSICHT\./);
});

test("beside a server that runs, it says which command brings the folder in, and that command does", async () => {
  const storage = join(folder, "beside");
  const settings = { PERSISTENT_STORAGE_PATH: storage };
  const server = startCommand(folder, ["serve", "--port", "0"], settings);
  try {
    for await (const line of createInterface({ input: server.stdout })) if (line.includes("listens on")) break;
    const { code, err } = await runCommand(folder, ["try", notes, "--port", "0"], settings);
    assert.equal(code, 1);
    assert.match(
      err,
      /'lockstep crawl MEINE_NOTIZEN' brings it in\.[\s\S]*another one \(process \d+\) uses the storage/,
    );
    assert.doesNotMatch(err, /within 0 s/);
    const crawled = await runCommand(folder, ["crawl", "MEINE_NOTIZEN"], settings);
    assert.equal(crawled.code, 0, crawled.err);
  } finally {
    server.kill("SIGTERM");
    if (server.exitCode === null && server.signalCode === null) await once(server, "exit");
  }
});

test("interrupted while it crawls, it says that it goes on the next time, and fails as shells expect", async () => {
  const site = createServer(() => child.kill("SIGINT")).listen(0, "127.0.0.1");
  await once(site, "listening");
  const { port } = site.address() as AddressInfo;
  const child = startCommand(folder, ["try", `http://127.0.0.1:${port}/`, "--port", "0"], {
    PERSISTENT_STORAGE_PATH: join(folder, "interrupted"),
    WEB_ALLOW_PRIVATE_NETWORKS: "true",
  });
  const ended = once(child, "exit");
  const out = await text(child.stdout);
  assert.deepEqual(await ended, [130, null]);
  assert.match(out, /The same command goes on from here/);
  assert.doesNotMatch(out, /Nothing can be found/);
  site.closeAllConnections();
  site.close();
});

const wrong: readonly (readonly [name: string, args: readonly string[], sentence: RegExp])[] = [
  ["a folder that is not there", ["try", join(folder, "nope")], /There is no folder '.*nope'\./],
  ["a file", ["try", join(notes, "leave.md")], /is a file\. Name the folder that it is in/],
  ["an address that is none", ["try", "http://"], /'http:\/\/' is no web address/],
  ["an address of another kind", ["try", "ftp://files.example.com/"], /'ftp:\/\/.*' is no web address/],
  [
    "an address without its scheme",
    ["try", "docs.example.com/guide"],
    /begins with its scheme: https:\/\/docs\.example/,
  ],
  ["an empty name", ["try", ""], /Name a folder or a web address/],
  ["a port that is none", ["try", notes, "--port", "x"], /PORT/],
  ["an unknown action", ["domains", "frob"], /no 'domains frob'\. Accepted: list, show, create, edit, delete\./],
  ["no domain", ["domains", "create"], /Say which domain: lockstep domains create DOMAIN/],
  ["a domain that is not there", ["domains", "edit", "NOPE", "--name", "x"], /'NOPE' does not exist/],
  ["nothing to change", ["domains", "edit", "MEINE_NOTIZEN"], /Say what to change/],
  [
    "an address without its scheme",
    ["domains", "create", "A", "--web", "docs.example.com"],
    /--web takes an address like .*'docs\.example\.com' is none/,
  ],
  ["no folder at all", ["domains", "create", "A", "--folder", ""], /--folder is empty/],
  [
    "a file that is not there",
    ["domains", "create", "A", "--from", "/nowhere/a.json"],
    /There is no file '\/nowhere\/a\.json'\.$/m,
  ],
  ["nobody to answer", ["domains", "delete", "MEINE_NOTIZEN"], /add --yes/],
];
for (const [name, args, sentence] of wrong) {
  test(`bad input gets a sentence: ${name}`, async () => {
    const { code, err } = await run(...args);
    assert.equal(code, 2, err);
    assert.match(err, sentence);
    assert.doesNotMatch(err, /\n\s+at /);
  });
}

test("a folder is named as on any command line", async () => {
  const created = await run("domains", "create", "NEAR", "--folder", "Meine Notizen");
  assert.equal(created.code, 0, created.err);
  assert.equal(JSON.parse((await run("domains", "show", "NEAR")).out).folder_sources[0].root, notes);
  assert.equal((await run("domains", "delete", "NEAR", "--yes")).code, 0);
});

test("started twice at once, the same command makes one domain", async () => {
  const settings = { PERSISTENT_STORAGE_PATH: join(folder, "twice") };
  const both = await Promise.all(
    [1, 2, 3].map(() => runCommand(folder, ["try", notes, "--once", "--port", "0"], settings)),
  );
  // Who comes second waits for no server: it is told how to go on.
  for (const { code, err } of both) {
    assert.doesNotMatch(err, /already exists/);
    if (code !== 0) assert.match(err, /Beside a server that runs already, 'lockstep crawl MEINE_NOTIZEN'/);
  }
  assert.ok(both.some(({ code }) => code === 0));
  assert.equal((await runCommand(folder, ["domains"], settings)).out.trim().split("\n").length, 1);
});

test("domains are made, edited and deleted on the command line", async () => {
  const file = join(folder, "team.json");
  await writeFile(file, JSON.stringify({ name: "Team", folder_sources: [{ source_id: "notes", root: notes }] }));
  assert.match((await run("domains", "create", "TEAM", "--from", file)).out, /Created domain TEAM with 1 source/);
  assert.equal((await run("domains", "create", "TEAM", "--name", "x")).code, 1);
  const more = join(folder, "more");
  await mkdir(more);
  assert.equal((await run("domains", "edit", "TEAM", "--folder", more, "--schedule", "0 2 * * *")).code, 0);
  const shown = JSON.parse((await run("domains", "show", "TEAM")).out);
  assert.deepEqual(
    shown.folder_sources.map(({ source_id, root }: { source_id: string; root: string }) => [source_id, root]),
    [
      ["notes", notes],
      ["files", more],
    ],
  );
  assert.equal(shown.schedule, "0 2 * * *");
  assert.match((await run("domains", "delete", "TEAM", "--dry-run")).out, /nothing was deleted/);
  assert.match((await run("domains")).out, /^TEAM /m);
  assert.equal((await run("domains", "delete", "TEAM", "--yes")).code, 0);
  assert.doesNotMatch((await run("domains")).out, /^TEAM /m);
});
