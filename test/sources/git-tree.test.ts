// A branch of a repository is listed and read as a tree, whatever the repository holds.
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, afterEach, beforeEach, describe, test } from "node:test";
import { BadInputError, NotFoundError, RemoteError } from "../../src/contracts/errors.ts";
import type { FileTree } from "../../src/contracts/file-tree.ts";
import type { Finding } from "../../src/contracts/finding.ts";
import { allOf, GitWorld, readText, serveGit, WITHOUT_GIT, walk } from "./git-world.ts";

const NEVER = new AbortController().signal;
const TOKEN = "s3cret-t0ken";
const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${"a".repeat(64)}\nsize 12345\n`;

async function findings(tree: FileTree): Promise<Finding[]> {
  return await allOf(tree.diagnose(() => true, NEVER));
}

describe("a branch of a repository as a tree", { skip: WITHOUT_GIT }, () => {
  let world: GitWorld;
  beforeEach(async () => {
    world = await GitWorld.open();
  });
  afterEach(() => world.close());

  test("lists the files of the last commit with the ids of their blobs and the date of the commit", async () => {
    await world.publish({ "a.md": "Otters", "docs/b.md": "Beavers" });
    const { files } = await walk(world.tree());
    const id = (await world.inWork("rev-parse", "HEAD:docs/b.md")).trim();
    const modifiedAtMs = Date.parse("2026-01-01T00:00:00Z");
    assert.deepEqual(files[1], { path: "docs/b.md", size: 7, modifiedAtMs, stamp: id, node: "" });
    assert.deepEqual(
      files.map(({ path }) => path),
      ["a.md", "docs/b.md"],
    );
  });

  test("reads by blob id, and by path what the last commit has", async () => {
    await world.publish({ "a.md": "One", "empty.md": "", "docs/large.md": "x".repeat(3_000_000) });
    const tree = world.tree({ maxFileBytes: 5_000_000 });
    const stamps: string[] = [];
    for await (const page of tree.walk(NEVER)) stamps.push(...page.files.map(({ stamp }) => stamp));
    const texts = await Promise.all(["a.md", "docs/large.md", "empty.md", "a.md"].map((path) => readText(tree, path)));
    assert.deepEqual(
      texts.map(({ length }) => length),
      [3, 3_000_000, 0, 3],
    );
    assert.equal(await readText(tree, "whatever it is called now.md", stamps[0]), "One");
    await assert.rejects(readText(tree, "b.md"), NotFoundError);
    await assert.rejects(readText(tree, "docs"), NotFoundError);
    await tree.close?.();
  });

  test("a body that nobody reads to its end keeps nobody from reading others", async () => {
    await world.publish({ "a.md": "One", "large.md": "x".repeat(3_000_000) });
    const tree = world.tree({ maxFileBytes: 5_000_000 });
    await walk(tree);
    const body = tree.read("large.md", NEVER)[Symbol.asyncIterator]();
    await body.next();
    assert.equal(await readText(tree, "a.md"), "One");
    await body.return?.();
    await tree.close?.();
  });

  test("names are what they are: blanks, umlauts, line ends, quotes, a dash in front, only another case", async () => {
    const names = [
      "a b.md",
      "Übung.md",
      "line\nend.md",
      'quo"te.md',
      "back\\slash.md",
      "-dash.md",
      "Case.md",
      "case.md",
    ];
    await world.publish(Object.fromEntries(names.map((name) => [name, `Text of ${name}`])));
    const tree = world.tree();
    const files = await allOf(tree.walk(NEVER));
    assert.deepEqual(files.flatMap((page) => page.files.map(({ path }) => path)).sort(), [...names].sort());
    for (const name of names) assert.equal(await readText(tree, name), `Text of ${name}`);
    await tree.close?.();
  });

  test("a name that is not UTF-8 is left out, and said to be", async () => {
    await world.publish({ "a.md": "One" });
    const id = (await world.inWork("rev-parse", "HEAD:a.md")).trim();
    const index = Buffer.concat([Buffer.from(`100644 ${id}\t`), Buffer.from([0xff]), Buffer.from(".md\0")]);
    await writeFile(join(world.place, "index"), index);
    await world
      .git("-c", "alias.take=!git -C work update-index -z --index-info < index", "take")
      .catch(() => undefined);
    await world.inWork("commit", "--quiet", "-m", "Odd");
    await world.inWork("push", "--quiet", "origin", "HEAD");
    const { paths, skipped } = await walk(world.tree());
    assert.deepEqual(paths, ["a.md"]);
    assert.deepEqual(skipped, [{ path: "\ufffd.md", reason: "Its name is not valid UTF-8." }]);
  });

  test("links, submodules, pointers of LFS and what is too large are left out with a reason", async () => {
    const other = await GitWorld.open();
    await other.publish({ "inner.md": "Inside" });
    await world.publish({
      "a.md": "One",
      "film.md": POINTER,
      "short.md": "version https://git-lfs.github.com/spec/v1",
      "large.md": "x".repeat(2000),
      "near.md": `${"x".repeat(200)}\n${POINTER}`,
    });
    await symlink("a.md", join(world.work, "link.md"));
    await world.inWork("submodule", "--quiet", "add", other.bare, "sub");
    await world.push();
    const { paths, skipped } = await walk(world.tree({ maxFileBytes: 1500 }));
    assert.deepEqual(paths, ["a.md", "near.md", "short.md"]);
    assert.deepEqual(
      skipped.map(({ path, reason }) => [path, reason.split(/[ ;,.]+/)[3]]),
      [
        ["film.md", "pointer"],
        ["large.md", "bytes"],
        ["link.md", "link"],
        ["sub", "submodule"],
      ],
    );
    await other.close();
  });

  test("include, exclude and hidden hold", async () => {
    await world.publish({ "a.md": "1", "docs/b.md": "2", "docs/drafts/c.md": "3", ".github/d.md": "4", "e.txt": "5" });
    const { paths } = await walk(world.tree({ include: ["*.md"], exclude: ["docs/drafts/**"] }));
    assert.deepEqual(paths, ["a.md", "docs/b.md"]);
    assert.ok((await walk(world.tree({ hidden: true }))).paths.includes(".github/d.md"));
  });

  test("3,000 files arrive in pages, binaries among them, and the next look fetches nothing", async () => {
    const files: Record<string, string | Uint8Array> = {
      "binary.bin": Uint8Array.from({ length: 5000 }, (_, i) => i % 256),
    };
    for (let i = 0; i < 3000; i++) files[`folder${i % 30}/file${i}.md`] = `File ${i} ${"text ".repeat(i % 60)}`;
    await world.publish(files);
    const tree = world.tree();
    const pages = await allOf(tree.walk(NEVER));
    assert.ok(pages.length > 2);
    assert.equal(pages.flatMap((page) => page.files).length, 3001);
    const chunks = await allOf(tree.read("binary.bin", NEVER));
    assert.deepEqual(Uint8Array.from(Buffer.concat(chunks)), files["binary.bin"]);
    await tree.close?.();
    const packs = (): Promise<string[]> => readdir(join(world.copy, "objects", "pack"));
    const before = await packs();
    assert.equal((await walk(world.tree())).files.length, 3001);
    assert.deepEqual(await packs(), before);
  });

  test("only the last commit is kept, however many there were", async () => {
    for (let i = 0; i < 25; i++) {
      await world.publish({ "a.md": `Version ${i}` });
      const { files } = await walk(world.tree());
      assert.equal(files[0]?.modifiedAtMs, Date.parse("2026-01-01T00:00:00Z") + i * 86_400_000);
    }
    const count = await world.git("--git-dir", world.copy, "rev-list", "--all", "--count");
    assert.equal(count.trim(), "1");
    const packs = await readdir(join(world.copy, "objects", "pack"));
    assert.ok(packs.filter((name) => name.endsWith(".pack")).length <= 20);
  });

  test("a force-push is another listing, and so is another branch", async () => {
    await world.publish({ "a.md": "One", "b.md": "Two" });
    await walk(world.tree());
    await world.inWork("checkout", "--quiet", "--orphan", "fresh");
    await world.remove("a.md");
    await world.write({ "c.md": "Three" });
    await world.push();
    await world.inWork("push", "--quiet", "--force", "origin", "fresh:main");
    assert.deepEqual((await walk(world.tree())).paths, ["b.md", "c.md"]);
    await world.inWork("checkout", "--quiet", "-b", "docs/live");
    await world.publish({ "d.md": "Four" });
    assert.deepEqual((await walk(world.tree({ branch: "docs/live" }))).paths, ["b.md", "c.md", "d.md"]);
    assert.deepEqual((await walk(world.tree({ branch: "main" }))).paths, ["b.md", "c.md"]);
  });

  test("a repository of SHA-256 is read like any other", async () => {
    const bare = join(world.place, "sha256.git");
    await world.git("init", "--quiet", "--bare", "--object-format=sha256", "-b", "main", bare);
    await rm(world.work, { recursive: true });
    await world.git("init", "--quiet", "--object-format=sha256", "-b", "main", world.work);
    await world.publish({ "a.md": "One" });
    await world.inWork("push", "--quiet", bare, "HEAD");
    const tree = world.tree({ repository: bare });
    await allOf(tree.walk(NEVER));
    assert.equal(await readText(tree, "a.md"), "One");
    await tree.close?.();
  });

  test("a repository without a commit is an empty tree", async () => {
    assert.deepEqual((await walk(world.tree())).paths, []);
    assert.match((await findings(world.tree()))[0]?.detail ?? "", /has no commit yet/);
  });

  test("a missing branch, a default branch without commits and a missing repository are told in a sentence", async () => {
    await world.inWork("checkout", "--quiet", "-b", "other");
    await world.publish({ "a.md": "One" });
    await assert.rejects(walk(world.tree({ branch: "nope" })), /has no branch 'nope'; there is 'other'\.$/);
    await assert.rejects(
      walk(world.tree()),
      /has no default branch, so one has to be named as 'branch'; there is 'other'\.$/,
    );
    await assert.rejects(walk(world.tree({ repository: join(world.place, "gone.git") })), (error: unknown) => {
      assert.ok(error instanceof RemoteError);
      assert.match(error.message, /^Cannot read the repository .*gone\.git: it is not there/);
      return true;
    });
    await mkdir(join(world.place, "plain"));
    await assert.rejects(
      walk(world.tree({ repository: join(world.place, "plain") })),
      /there is no such repository\.$/,
    );
  });

  test("only folders that sources may lie in are read, and no working tree whose repository lies elsewhere", async () => {
    await world.publish({ "a.md": "One" });
    const among = (options: Parameters<GitWorld["checkFolder"]>[1]): FileTree =>
      world.tree({}, { checkFolder: (path) => world.checkFolder(path, options) });
    const roots = async (): Promise<string[]> => [join(world.place, "allowed")];
    await assert.rejects(walk(among({ roots })), /may not be read/);
    await assert.rejects(walk(among({ storagePath: world.place })), /lies in the storage of lockstep/);
    const linked = join(world.place, "linked");
    await world.inWork("worktree", "add", "--quiet", "--detach", linked);
    await assert.rejects(walk(world.tree({ repository: linked })), /whose repository lies elsewhere/);
    assert.deepEqual((await walk(world.tree({ repository: world.work }))).paths, ["a.md"]);
  });

  test("hooks and settings of the account and of the repository are not used", async () => {
    await world.publish({ "a.md": "One" });
    const mark = join(world.place, "ran");
    const hook = join(world.place, "hook");
    await writeFile(hook, `#!/bin/sh\necho ran >> '${mark}'\nexec "$@"\n`);
    await chmod(hook, 0o755);
    await writeFile(
      join(world.place, ".gitconfig"),
      `[uploadpack]\n packObjectsHook = ${hook}\n[url "/nowhere/"]\n insteadOf = ${world.place}/\n[core]\n hooksPath = ${world.place}\n`,
    );
    for (const name of ["reference-transaction", "post-checkout"]) {
      await writeFile(join(world.place, name), `#!/bin/sh\necho ran >> '${mark}'\n`);
      await chmod(join(world.place, name), 0o755);
    }
    await world.git("--git-dir", world.bare, "config", "core.fsmonitor", hook);
    const hostile: Record<string, string> = {
      HOME: world.place,
      GIT_CONFIG_GLOBAL: join(world.place, ".gitconfig"),
      GIT_DIR: "/nowhere",
      GIT_TRACE: "1",
    };
    const variable = (name: string): string | undefined => hostile[name] ?? process.env[name];
    assert.deepEqual((await walk(world.tree({}, { variable }))).paths, ["a.md"]);
    await assert.rejects(readFile(mark), /ENOENT/);
  });

  test("a dry run leaves nothing behind, and fetches only what the copy does not have", async () => {
    await world.publish({ "a.md": "One" });
    const before = await readdir(tmpdir());
    assert.deepEqual((await walk(world.tree({}, { dryRun: true }))).paths, ["a.md"]);
    await assert.rejects(readdir(world.copy), /ENOENT/);
    await walk(world.tree());
    await world.publish({ "b.md": "Two" });
    const tree = world.tree({}, { dryRun: true });
    const pages = await allOf(tree.walk(NEVER));
    assert.deepEqual(
      pages.flatMap((page) => page.files.map(({ path }) => path)),
      ["a.md", "b.md"],
    );
    assert.equal(await readText(tree, "a.md"), "One");
    await tree.close?.();
    const copied = await world.git("--git-dir", world.copy, "ls-tree", "--name-only", "refs/lockstep/tip");
    assert.equal(copied.trim(), "a.md");
    const left = (await readdir(tmpdir())).filter((name) => name.startsWith("lockstep-git-") && !before.includes(name));
    assert.deepEqual(
      left.filter((name) => !name.startsWith("lockstep-git-world-")),
      [],
    );
  });

  test("what is missing or damaged in our copy is unreadable, and healed by the next look", async () => {
    await world.publish({ "a.md": "One", "b.md": `Two ${"words ".repeat(30)}` });
    await walk(world.tree());
    const pack = join(world.copy, "objects", "pack");
    const [name = ""] = (await readdir(pack)).filter((file) => file.endsWith(".pack"));
    await chmod(join(pack, name), 0o644);
    await truncate(join(pack, name), 40);
    await walk(world.tree()).catch((error: unknown) => assert.ok(error instanceof RemoteError));
    const tree = world.tree();
    await allOf(tree.walk(NEVER));
    assert.equal(await readText(tree, "a.md"), "One");
    await tree.close?.();
  });

  test("a single blob that is missing in our copy keeps the others readable", async () => {
    await world.publish({ "a.md": "One", "b.md": "Two" });
    await walk(world.tree());
    const copy = world.copy;
    const id = (await world.inWork("rev-parse", "HEAD:a.md")).trim();
    const [pack = ""] = (await readdir(join(copy, "objects", "pack"))).filter((file) => file.endsWith(".pack"));
    const bytes = await readFile(join(copy, "objects", "pack", pack));
    await rm(join(copy, "objects", "pack"), { recursive: true });
    await writeFile(join(world.place, "objects.pack"), bytes);
    await world.git("--git-dir", copy, "-c", "alias.loosen=!git unpack-objects -q < objects.pack", "loosen");
    await rm(join(copy, "objects", id.slice(0, 2), id.slice(2)));
    const tree = world.tree();
    const [page] = await allOf(tree.walk(NEVER));
    assert.deepEqual(
      page?.unreadable.map(({ path, what }) => [path, what]),
      [["a.md", "file"]],
    );
    assert.equal(await readText(tree, "b.md"), "Two");
    await assert.rejects(readText(tree, "a.md"), /missing or damaged in our copy/);
    await tree.close?.();
    assert.deepEqual((await walk(world.tree())).paths, ["a.md", "b.md"]);
  });

  test("locks that a killed run left do not stop the next one", async () => {
    await world.publish({ "a.md": "One" });
    await walk(world.tree());
    await world.publish({ "b.md": "Two" });
    await writeFile(join(world.copy, "shallow.lock"), "");
    await mkdir(`${world.copy}.new`);
    assert.deepEqual((await walk(world.tree())).paths, ["a.md", "b.md"]);
    assert.deepEqual(await readdir(dirname(world.copy)), ["git"]);
  });

  test("without git in PATH a look fails with a sentence, and examine says what to do", async () => {
    const empty = await mkdtemp(join(tmpdir(), "lockstep-empty-"));
    const variable = (name: string): string | undefined => (name === "PATH" ? empty : undefined);
    await assert.rejects(walk(world.tree({}, { variable })), BadInputError);
    const [git, repository] = await findings(world.tree({}, { variable }));
    assert.deepEqual([git?.subject, git?.outcome], ["Git", "problem"]);
    assert.match(git?.detail ?? "", /^There is no git on this machine/);
    assert.equal(repository?.outcome, "not checked");
    await rm(empty, { recursive: true });
  });

  test("a git that is too old is refused", async () => {
    const place = await mkdtemp(join(tmpdir(), "lockstep-old-"));
    await writeFile(join(place, "git"), "#!/bin/sh\necho git version 2.25.1\n");
    await chmod(join(place, "git"), 0o755);
    const variable = (name: string): string | undefined => (name === "PATH" ? place : undefined);
    await assert.rejects(walk(world.tree({}, { variable })), /too old \(git version 2\.25\.1\); 2\.32 or later/);
    await rm(place, { recursive: true });
  });

  test("by ssh with the program ssh, which may ask nothing", async () => {
    await world.publish({ "a.md": "One" });
    const place = join(world.place, "bin");
    await mkdir(place);
    // What a host would do: the last argument is the command.
    await writeFile(
      join(place, "ssh"),
      `#!/bin/sh\necho "$@" >> '${place}/asked'\nfor last; do :; done\nexec sh -c "$last"\n`,
    );
    await chmod(join(place, "ssh"), 0o755);
    const path = `${place}:${process.env["PATH"]}`;
    const variable = (name: string): string | undefined => (name === "PATH" ? path : process.env[name]);
    for (const repository of [`ssh://git@127.0.0.1:2222${world.bare}`, `git@localhost:${world.bare}`]) {
      const folder = join(world.place, repository.replaceAll(/\W/g, ""));
      assert.deepEqual((await walk(world.tree({ repository }, { variable, folder }))).paths, ["a.md"]);
    }
    const [first = ""] = (await readFile(join(place, "asked"), "utf8")).split("\n");
    assert.match(first, /^-oBatchMode=yes .*-p 2222 git@127\.0\.0\.1 git-upload-pack/);
  });

  test("examine says which branch and commit can be read, and fetches nothing", async () => {
    await world.publish({ "a.md": "One" });
    const [found] = await findings(world.tree());
    assert.equal(found?.outcome, "ok");
    assert.match(found?.detail ?? "", /^Its branch 'main' can be read; its last commit is [0-9a-f]{12}\.$/);
    assert.ok(!(await readdir(world.place)).includes("copy"));
  });

  test("pages of GitHub and GitLab are linked; elsewhere the repository, and the path behind #", () => {
    const url = (repository: string, branch = ""): string =>
      world.tree({ repository, branch }).addressOf("a b/ü.md").url;
    const file = "a%20b/%C3%BC.md";
    assert.equal(url("https://github.com/o/r.git", "docs/live"), `https://github.com/o/r/blob/docs/live/${file}`);
    assert.equal(url("git@github.com:o/r.git"), `https://github.com/o/r/blob/HEAD/${file}`);
    assert.equal(
      url("ssh://git@gitlab.example.com:2222/o/r.git"),
      `https://gitlab.example.com/o/r/-/blob/HEAD/${file}`,
    );
    assert.equal(url("https://git.example.com/r.git"), `https://git.example.com/r.git#${file}`);
    assert.equal(url("/srv/r.git"), `file:///srv/r.git#${file}`);
  });
});

describe("a repository by HTTP", { skip: WITHOUT_GIT }, () => {
  const closing: (() => Promise<unknown>)[] = [];
  after(async () => {
    for (const close of closing.reverse()) await close();
  });

  async function open(): Promise<GitWorld> {
    const world = await GitWorld.open();
    closing.push(() => world.close());
    await world.publish({ "a.md": "One", "b.md": "Two" });
    return world;
  }

  async function serve(
    world: GitWorld,
    ...[first]: Parameters<typeof serveGit> extends [string, ...infer R] ? R : never
  ) {
    const server = await serveGit(world.place, first);
    closing.push(() => server.stop());
    return server;
  }

  const variable = (name: string): string | undefined => (name === "DOCS_TOKEN" ? TOKEN : process.env[name]);
  const isToken = (text: string | undefined, user = "x-access-token"): boolean =>
    text === `Basic ${Buffer.from(`${user}:${TOKEN}`).toString("base64")}`;

  test("with the token that the variable holds, and only what changed the next time", async () => {
    const world = await open();
    const { url, authorizations } = await serve(world, ({ headers }, response) => {
      if (isToken(headers.authorization)) return false;
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
      return true;
    });
    const place = { repository: `${url}/handbook.git`, credential: "DOCS_TOKEN" };
    assert.deepEqual((await walk(world.tree(place, { variable }))).paths, ["a.md", "b.md"]);
    await world.publish({ "c.md": "Three" });
    assert.deepEqual((await walk(world.tree(place, { variable }))).paths, ["a.md", "b.md", "c.md"]);
    assert.ok(authorizations.every((text) => isToken(text)));
    const copy = world.copy;
    for (const entry of await readdir(copy, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const text = (await readFile(join(entry.parentPath, entry.name))).toString("latin1");
      assert.ok(!text.includes(TOKEN) && !text.includes(Buffer.from(`:${TOKEN}`).toString("base64").slice(4, 16)));
    }
  });

  test("a refused token and a missing one are told without the token", async () => {
    const world = await open();
    const { url } = await serve(world, (_request, response) => {
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end();
      return true;
    });
    const repository = `${url}/handbook.git`;
    await assert.rejects(walk(world.tree({ repository, credential: "DOCS_TOKEN" }, { variable })), (error: unknown) => {
      assert.ok(error instanceof RemoteError);
      assert.match(error.message, /the server refuses the token in DOCS_TOKEN/);
      assert.ok(!`${error.message}${error.stack}${String(error.cause)}`.includes(TOKEN));
      return true;
    });
    await assert.rejects(walk(world.tree({ repository })), /name an environment variable with a token as 'credential'/);
    await assert.rejects(walk(world.tree({ repository, credential: "NOT_SET" })), /NOT_SET, which .* is not set/);
    await assert.rejects(walk(world.tree({ credential: "DOCS_TOKEN" }, { variable })), /for repositories at https/);
  });

  test("a redirect is not followed, so that no other host sees the token", async () => {
    const world = await open();
    const other = await serve(world);
    const { url } = await serve(world, (request, response) => {
      response.writeHead(301, { location: `${other.url}${request.url}` }).end();
      return true;
    });
    const place = { repository: `${url}/handbook.git`, credential: "DOCS_TOKEN" };
    await assert.rejects(walk(world.tree(place, { variable })), /answers with a redirect/);
    assert.deepEqual(other.authorizations, []);
  });

  test("no such repository, nobody there, a server in trouble", async () => {
    const world = await open();
    const { url, stop } = await serve(world);
    const troubled = await serve(world, (_request, response) => {
      response.writeHead(503).end();
      return true;
    });
    await assert.rejects(walk(world.tree({ repository: `${url}/nope.git` })), /there is no such repository/);
    await assert.rejects(
      walk(world.tree({ repository: `${troubled.url}/handbook.git` })),
      /the server has an error of its own/,
    );
    await stop();
    await assert.rejects(walk(world.tree({ repository: `${url}/handbook.git` })), /it cannot be reached/);
  });

  test("a server that says nothing has an end, and a cancelled fetch ends at once", async () => {
    const world = await open();
    let asked = Promise.withResolvers<void>();
    // Where the branch is, is asked twice: before git fetches, and by its fetch.
    let posts = 0;
    const { url } = await serve(world, ({ method }) => {
      posts += method === "POST" ? 1 : 0;
      if (posts < 3) return false;
      asked.resolve();
      return true;
    });
    const repository = `${url}/handbook.git`;
    await assert.rejects(walk(world.tree({ repository }, { idleTimeoutMs: 500 })), /sent nothing for 0\.5 seconds/);
    posts = 0;
    asked = Promise.withResolvers<void>();
    const cancel = new AbortController();
    const walking = walk(world.tree({ repository }), cancel.signal);
    await asked.promise;
    cancel.abort(new Error("cancelled by a person"));
    await assert.rejects(walking, /cancelled by a person/);
    assert.deepEqual(await readdir(dirname(world.copy)), []);
  });
});
