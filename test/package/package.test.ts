// The packed tarball installs into an empty folder, and its commands run.
import assert from "node:assert/strict";
import { cpSync, existsSync, globSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { spawnWithUs } from "../spawn-with-us.ts";
import { copyCheckout, environment, npm, ROOT, run } from "./copy-checkout.ts";

const skip = process.platform === "win32" ? "packages are linked as npm does it elsewhere" : false;
const MANIFEST: {
  engines: { node: string };
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
} = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
const OLDEST = MANIFEST.engines.node.replace(">=", "");
/** Whoever wants what they do installs them; a sentence says so. */
const BY_USERS = ["playwright-core"];
const IMPORTS =
  /(?:^(?:import|export|\}) (?:.* )?from |^import |\bimport\(|\blater\(|\(import\.meta\.url\)\()"([^"]+)"/gm;

let folder: string;
/** Where a user installed the tarball: nothing there comes from the checkout but the packages that `npm install` would bring. */
let home: string;
let installed: string;

/** `npx lockstep`, which has no network to get anything from. */
const npx = (...args: string[]) => npm("exec", "--offline", "--", ...args);

describe("the package", { skip }, () => {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-package-"));
    const checkout = join(folder, "checkout");
    await copyCheckout(checkout);
    await cp(join(ROOT, "src"), join(checkout, "src"), { recursive: true });
    const packing = await run(npm("pack", "--pack-destination", folder), checkout);
    assert.equal(packing.code, 0, packing.output);
    home = join(folder, "home");
    installed = join(home, "node_modules/lockstep");
    await install(globSync("*.tgz", { cwd: folder }));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("holds what a user needs, and nothing else", () => {
    const files = globSync("**", {
      cwd: installed,
      withFileTypes: true,
      exclude: (entry) => entry.name === "node_modules",
    })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
    const top = new Set(files.map((file) => (file.startsWith("docs/") ? dirname(file) : (file.split("/")[0] ?? ""))));
    const expected = ["LICENSE", "README.md", "bin", "dist", "docs", "docs/formats", "docs/guides", "docs/images"];
    assert.deepEqual([...top].sort(), ["CHANGELOG.md", ...expected, "package.json"].sort());
    assert.ok(existsSync(join(installed, ".env.example")));
    // Everything of the source is there as JavaScript with types, or as it is.
    const sources = globSync("**/*.*", { cwd: join(ROOT, "src") });
    const missing = sources
      .flatMap((file) => (file.endsWith(".ts") ? [file.replace(/ts$/, "js"), file.replace(/ts$/, "d.ts")] : [file]))
      .filter((file) => !existsSync(join(installed, "dist", file)));
    assert.deepEqual(missing, []);
    assert.deepEqual(
      files.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts")),
      [],
    );
  });

  it("imports what it depends on, and starts threads and programs that it has", () => {
    const [undeclared, missing]: [string[], string[]] = [[], []];
    for (const file of globSync("dist/**/*.js", { cwd: installed, exclude: ["dist/http/assets/**"] })) {
      const text = readFileSync(join(installed, file), "utf8");
      for (const [, name = ""] of text.matchAll(IMPORTS)) {
        const ofPackage = name.split("/", name.startsWith("@") ? 2 : 1).join("/");
        if (/^\.|^node:/.test(name) || ofPackage in MANIFEST.dependencies || BY_USERS.includes(ofPackage)) continue;
        undeclared.push(`${file}: ${name}`);
      }
      for (const [, name = ""] of text.matchAll(/moduleBeside\(import\.meta\.url, "([^"]+)"\)/g)) {
        if (!existsSync(join(installed, dirname(file), `${name}.js`))) missing.push(`${file}: ${name}`);
      }
    }
    assert.deepEqual([undeclared, missing], [[], []]);
  });

  it("names the Node that it carries as the oldest, and runs with it", async () => {
    for (const version of Object.values(MANIFEST.optionalDependencies)) assert.equal(version, OLDEST);
    const { output } = await run(npx("node", "--version"), home);
    // Where none is carried, the tests run with whatever Node there is.
    assert.equal(output.trim(), existsSync(carriedNode()) ? `v${OLDEST}` : process.version);
  });

  it("npx lockstep --help", async () => {
    const { code, output } = await run(npx("lockstep", "--help"), home);
    assert.deepEqual(
      [code, output.split("\n")[0]],
      [0, "lockstep keeps AI knowledge bases in lockstep with their sources."],
    );
  });

  it("npx lockstep demo --once", async () => {
    const { code, output } = await run(npx("lockstep", "demo", "--once"), home);
    assert.equal(code, 0, output);
    assert.doesNotMatch(output, /ERROR|WARNING/);
    assert.match(output, /Travel Policy › Hotels[\s\S]*?London, Paris and Zurich the limit is 190 euros/);
  });

  it("npx lockstep serve, which ends with npx", { timeout: 120_000 }, async () => {
    const [program, args] = npx("lockstep", "serve", "--port", "0");
    const server = spawnWithUs(program, args, { signal: "SIGTERM", cwd: home, env: environment(home) });
    const ended = new Promise((resolve) => server.once("close", resolve));
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let output = "";
        const hear = (bytes: Buffer): void => {
          output += bytes.toString();
          const [, address] = /listens on (\S+)/.exec(output) ?? [];
          if (address) resolve(address);
        };
        server.stdout.on("data", hear);
        server.stderr.on("data", hear);
        server.once("close", () => reject(new Error(`it did not start: ${output}`)));
      });
      const page = await (await fetch(url)).text();
      const assets = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path);
      assert.ok(assets.length > 2, page);
      for (const path of assets) assert.equal((await fetch(`${url}${path}`)).status, 200, path);
    } finally {
      server.kill("SIGTERM");
      await ended;
    }
  });

  it("has types, and what programs may import", async () => {
    await writeFile(
      join(home, "use.mts"),
      `import { compose } from "lockstep";
import { readConfig } from "lockstep/config";
const app = await compose(readConfig({ PERSISTENT_STORAGE_PATH: "used" }));
const host: string = app.config.host;
process.stdout.write(host);
await app.close();
export const wrong: number = app.config.host;
`,
    );
    const options = ["--module", "nodenext", "--target", "es2024", "--strict", "--noEmit", "--types", "node"];
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    const types = ["--typeRoots", join(ROOT, "node_modules/@types")];
    const compiled = await run([process.execPath, [compiler, ...options, ...types, "use.mts"]], home);
    assert.match(
      compiled.output,
      /^use\.mts\(7,14\): error TS2322: Type 'string' is not assignable to type 'number'\.\s*$/,
    );
    const used = await run([process.execPath, ["use.mts"]], home);
    assert.deepEqual(used, { code: 0, output: "127.0.0.1" });
  });
});

/** What `npm install TARBALL` leaves, without asking a registry: of the packages beside us those that come without `dev`. */
async function install([tarball = "", ...more]: readonly string[]): Promise<void> {
  assert.deepEqual([tarball !== "", more], [true, []]);
  await mkdir(installed, { recursive: true });
  await writeFile(join(home, "package.json"), "{}\n");
  const unpacked = await run(["tar", ["-xzf", join(folder, tarball), "-C", installed, "--strip-components=1"]], folder);
  assert.equal(unpacked.code, 0, unpacked.output);
  const lock: { packages: Record<string, { dev?: boolean }> } = JSON.parse(
    readFileSync(join(ROOT, "package-lock.json"), "utf8"),
  );
  // The carried Node is large, and is linked instead.
  const carried = Object.keys(MANIFEST.optionalDependencies).map((name) => `node_modules/${name}`);
  for (const [path, { dev }] of Object.entries(lock.packages)) {
    if (path === "" || dev || carried.includes(path) || !existsSync(join(ROOT, path))) continue;
    // Those inside of it come by themselves, and in any order.
    cpSync(join(ROOT, path), join(home, path), { recursive: true });
  }
  await mkdir(join(home, "node_modules/.bin"));
  await symlink("../lockstep/bin/lockstep.mjs", join(home, "node_modules/.bin/lockstep"));
  const node = existsSync(carriedNode()) ? carriedNode() : process.execPath;
  await symlink(node, join(home, "node_modules/.bin/node"));
}

function carriedNode(): string {
  return join(ROOT, `node_modules/node-${process.platform}-${process.arch}/bin/node`);
}
