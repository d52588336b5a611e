import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, copyFile, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { FileTree, TreeFile, TreePage } from "../../src/contracts/file-tree.ts";
import { type FolderTreeOptions, openRoot } from "../../src/sources/folder/folder-root.ts";
import { createGitTree, type GitTreeOptions } from "../../src/sources/git/create-git-tree.ts";
import type { GitTreeConfig } from "../../src/sources/git/git-source-codec.ts";

/** For tests: why they are left out on a machine without git. */
export const WITHOUT_GIT = hasGit() ? false : "there is no git on this machine";

function hasGit(): boolean {
  try {
    execFileSync("git", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const AUTHOR = { name: "Ada", email: "ada@example.com" };
const ENV = {
  PATH: process.env["PATH"] ?? "",
  HOME: tmpdir(),
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: AUTHOR.name,
  GIT_AUTHOR_EMAIL: AUTHOR.email,
  GIT_COMMITTER_NAME: AUTHOR.name,
  GIT_COMMITTER_EMAIL: AUTHOR.email,
};
/** Nothing lives long enough to be tidied up; every commit and push would begin a process that looks whether it has to be. */
const UNTIDY = ["maintenance.auto=false", "gc.auto=0", "receive.autogc=false"].flatMap((setting) => ["-c", setting]);
const FIRST_COMMIT_AT = Date.parse("2026-01-01T00:00:00Z");
const NEVER = new AbortController().signal;

/** A repository that somebody works in, and what it was pushed to. */
export class GitWorld {
  readonly place: string;
  /** The working tree. */
  readonly work: string;
  /** What sources read. */
  readonly bare: string;
  /** Where the copy is that a crawl keeps. */
  readonly copy: string;
  #commits = 0;

  private constructor(place: string) {
    this.place = place;
    this.work = join(place, "work");
    this.bare = join(place, "handbook.git");
    this.copy = join(place, "private", "git");
  }

  static async open(): Promise<GitWorld> {
    const world = new GitWorld(await mkdtemp(join(tmpdir(), "lockstep-git-world-")));
    await world.git("init", "--quiet", "--template=", "--bare", "-b", "main", world.bare);
    await world.git("init", "--quiet", "--template=", "-b", "main", world.work);
    const settings = `[core]\n\tprecomposeUnicode = false\n[remote "origin"]\n\turl = ${world.bare}\n`;
    await appendFile(join(world.work, ".git/config"), settings);
    // What is committed is there at once, for `push`.
    await rm(join(world.work, ".git/objects"), { recursive: true });
    await symlink(join(world.bare, "objects"), join(world.work, ".git/objects"));
    return world;
  }

  async close(): Promise<void> {
    await rm(this.place, { recursive: true, force: true });
  }

  async git(...args: string[]): Promise<string> {
    const at = new Date(FIRST_COMMIT_AT + this.#commits * 86_400_000).toISOString();
    const env = { ...ENV, GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at };
    const options = { env, cwd: this.place, maxBuffer: 1e8 };
    return (await promisify(execFile)("git", ["-c", "protocol.file.allow=always", ...UNTIDY, ...args], options)).stdout;
  }

  inWork(...args: string[]): Promise<string> {
    return this.git("-C", this.work, ...args);
  }

  async write(files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(this.work, path)), { recursive: true });
      await writeFile(join(this.work, path), content);
    }
  }

  async move(from: string, to: string): Promise<void> {
    await mkdir(dirname(join(this.work, to)), { recursive: true });
    await rename(join(this.work, from), join(this.work, to));
  }

  async remove(path: string): Promise<void> {
    await rm(join(this.work, path), { recursive: true });
  }

  /**
   * Everything as it is now. Each commit is a day later than the one before. The branch is written as `git push` would have done,
   * which starts seven programs for it.
   */
  async push(): Promise<void> {
    await this.inWork("add", "--all");
    await this.inWork("commit", "--quiet", "--allow-empty", "-m", "Another state");
    this.#commits += 1;
    const branch = (await readFile(join(this.work, ".git/HEAD"), "utf8")).trim().replace("ref: ", "");
    await mkdir(dirname(join(this.bare, branch)), { recursive: true });
    await copyFile(join(this.work, ".git", branch), join(this.bare, branch));
  }

  async publish(files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
    await this.write(files);
    await this.push();
  }

  async checkFolder(path: string, options: Partial<FolderTreeOptions> = {}): Promise<void> {
    await openRoot(path, { storagePath: join(this.place, "storage"), roots: async () => "anywhere", ...options });
  }

  tree(config: Partial<GitTreeConfig> = {}, options: Partial<GitTreeOptions> = {}): FileTree {
    return createGitTree(
      {
        repository: this.bare,
        branch: "",
        credential: "",
        include: [],
        exclude: [],
        hidden: false,
        maxFileBytes: 1024 * 1024,
        ...config,
      },
      {
        checkFolder: (path) => this.checkFolder(path),
        variable: (name) => process.env[name],
        folder: dirname(this.copy),
        dryRun: false,
        ...options,
      },
    );
  }
}

export interface Walked {
  readonly files: readonly TreeFile[];
  readonly paths: readonly string[];
  readonly skipped: TreePage["skipped"];
  readonly unreadable: TreePage["unreadable"];
}

/** All of a tree, which is closed then. */
export async function walk(tree: FileTree, signal: AbortSignal = NEVER): Promise<Walked> {
  const pages: TreePage[] = [];
  try {
    for await (const page of tree.walk(signal)) pages.push(page);
  } finally {
    await tree.close?.();
  }
  const files = pages.flatMap((page) => page.files);
  return {
    files,
    paths: files.map(({ path }) => path),
    skipped: pages.flatMap((page) => page.skipped),
    unreadable: pages.flatMap((page) => page.unreadable),
  };
}

export async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export async function readText(tree: FileTree, path: string, stamp?: string): Promise<string> {
  return Buffer.concat(await allOf(tree.read(path, NEVER, stamp))).toString();
}

export interface GitServer {
  readonly url: string;
  /** What came with each request. */
  readonly authorizations: (string | undefined)[];
  stop(): Promise<void>;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The repositories below a folder by smart HTTP, through `git http-backend`. `first`: answers instead, if it returns true. */
export async function serveGit(folder: string, first: Answer = () => false): Promise<GitServer> {
  const authorizations: (string | undefined)[] = [];
  const server: Server = createServer((request, response) => {
    authorizations.push(request.headers.authorization);
    if (!first(request, response)) answer(folder, request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authorizations,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? "/", "http://localhost");
  const backend = spawn("git", ["http-backend"], {
    env: {
      ...ENV,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method ?? "GET",
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REMOTE_ADDR: "127.0.0.1",
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  request.pipe(backend.stdin);
  backend.stdin.on("error", () => undefined);
  let head: Buffer = Buffer.alloc(0);
  const begin = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    backend.stdout.off("data", begin);
    for (const line of head.subarray(0, end).toString().split("\r\n")) {
      const [name = "", value = ""] = line.split(": ", 2);
      if (name === "Status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    backend.stdout.pipe(response);
  };
  backend.stdout.on("data", begin);
}
