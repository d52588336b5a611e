// `lockstep add` registers addresses that a running server then fetches and indexes.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { Pages } from "../engine/ingest-stage.ts";
import { startCommand } from "./run-command.ts";
import { startCommands } from "./start-commands.ts";

describe("lockstep add and items", () => {
  const pages = new Pages();
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-cli-add-"));
    await pages.open();
  });
  const commands = startCommands(() => folder);
  after(async () => {
    await commands.end();
    await pages.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("registers addresses, which a running server looks at and indexes", async () => {
    pages.answers.set("/handbook", { text: "Everything about otters." });
    const server = startCommand(folder, ["serve", "--port", "0"], settings());
    const url = await listening(server);
    const added = await run("add", pages.url("/handbook#top"), "ftp://example.com/x");
    assert.equal(added.code, 2);
    assert.match(added.out, /^Registered http:\/\/127\.0\.0\.1:\d+\/handbook \(url_[a-z2-7]{26}, domain INGEST\)\n$/);
    assert.match(added.err, /'ftp:\/\/example\.com\/x'.*https:\/\//);
    while ((await found(url, "otters")) === 0) await setTimeout(100);
    const items = await run("items", "--domain", "INGEST", "--status", "Indexed");
    assert.match(items.out, /^Indexed .*\/handbook\n1 address;/);
    const rebuilt = await run("rebuild", "INGEST", "--force");
    assert.deepEqual([rebuilt.code, /^Queued: 1 address\.$/m.test(rebuilt.out)], [0, true]);
    const taken = await run("remove", pages.url("/handbook?utm_source=mail"), "url_nothing");
    assert.equal(taken.code, 2);
    assert.match(taken.out, /^Taken out: .*\/handbook.* \(domain INGEST\)\n$/);
    assert.match(taken.err, /^lockstep: 'url_nothing': Item 'url_nothing' is not in domain 'INGEST'\.\n$/);
    await writeFile(join(folder, "plan.md"), "Everything about walruses.");
    const file = await run("add", "plan.md", "/etc/hostname");
    assert.equal(file.code, 2);
    assert.match(file.out, /^Registered \/.*\/plan\.md \(file_[a-z2-7]{26}, domain INGEST\)\n$/);
    assert.match(file.err, /'\/etc\/hostname'.*INGEST_FILE_ROOTS allows/);
    while ((await found(url, "walruses")) === 0) await setTimeout(100);
    const told = await Promise.all(
      ["plan.md", pathToFileURL(join(folder, "plan.md")).href].map((one) => run("items", one)),
    );
    for (const { out, err } of told) assert.match(out, /^Address +\/.*\/plan\.md$/m, err);
    assert.equal((await run("remove", "plan.md")).code, 0);
    const secret = await run("add", "https://example.com/feed;sid=1?feed_token=hunter2");
    assert.deepEqual([secret.code, secret.out], [2, ""]);
    assert.match(secret.err, /^lockstep: 'https:\/\/example\.com\/feed': The address holds .*'feed_token'/);
    const blob = await run("add", "--blobs", "https://a.blob.core.windows.net/abc/plan.pdf?sv=1&sp=r&sig=hunter2");
    assert.match(
      blob.out,
      /^Registered https:\/\/a\.blob\.core\.windows\.net\/abc\/plan\.pdf .*\nWhat follows the question mark .* was dropped/,
    );
    assert.doesNotMatch(secret.err + blob.out + blob.err, /hunter2/);
    server.kill("SIGTERM");
    assert.deepEqual(await once(server, "exit"), [0, null]);
  });

  const settings = () => ({ WEB_ALLOW_PRIVATE_NETWORKS: "true", WEB_HOST_DELAY_MS: "0", INGEST_FILE_ROOTS: folder });
  const run = (...args: string[]) => commands.call(args, settings());

  async function listening(server: ChildProcess): Promise<string> {
    const lines = createInterface(server.stdout ?? assert.fail());
    const [line] = (await once(lines, "line")) as [string];
    return /http:\S+/.exec(line)?.[0] ?? assert.fail(line);
  }

  async function found(url: string, word: string): Promise<number> {
    const answer = await fetch(`${url}/api/Search?q=${word}`);
    const { results = [] } = (await answer.json()) as { results?: unknown[] };
    return results.length;
  }
});
