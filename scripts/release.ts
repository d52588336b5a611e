import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const USAGE = `npm run release -- --dry-run   tells what would be published, or what is in the way
npm run release                publishes it, after the same checks, and makes its tag`;

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/** Said as it is, without a stack. */
class Refusal extends Error {}

const root = resolve(import.meta.dirname, "..");
const args = process.argv.slice(2);
// `npm run release --dry-run`, without the two dashes, tells npm instead of us, and means the same.
const isDryRun = args.includes("--dry-run") || process.env["npm_config_dry_run"] === "true";

try {
  const unknown = args.find((arg) => arg !== "--dry-run");
  if (unknown) throw new Refusal(`There is no option '${unknown}'.\n\n${USAGE}`);
  release();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

function release(): void {
  const { name, version } = readJson("package.json");
  const gitTag = `v${version}`;
  // A version with a hyphen is a preview, which nobody should get who did not ask for one.
  const npmTag = version.includes("-") ? "next" : "latest";
  const changes = check(version, gitTag);
  const folder = mkdtempSync(join(tmpdir(), "lockstep-release-"));
  try {
    run(...npm("run", "-s", "build"));
    const packed = pack(folder);
    console.log(`${name} ${version}, as '${npmTag}', from the commit ${run("git", "rev-parse", "--short", "HEAD")}, which gets the tag ${gitTag}

Files: ${packed.files.length}, ${kilobytes(packed.size)} packed, ${kilobytes(packed.unpackedSize)} unpacked
${filesByFolder(packed).join("\n")}

Changes:

${changes}
`);
    if (isDryRun) {
      console.log("Nothing was published: this was a dry run.");
      return;
    }
    publish(join(folder, packed.filename), npmTag);
    run("git", "tag", "-a", gitTag, "-m", `Release ${version}`);
    console.log(`Published. Now: git push origin ${gitTag}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whatever is in the way is said at once. Returns what the changelog says of this version. */
function check(version: string, gitTag: string): string {
  const changes = sectionOf(version, readFileSync(join(root, "CHANGELOG.md"), "utf8"));
  const changed = run("git", "status", "--porcelain").split("\n").filter(Boolean);
  const wrong = [
    ...(changed.length > 0 ? [`The working tree has changes that are not committed: ${some(changed)}.`] : []),
    ...(readJson("package-lock.json").version !== version
      ? [`package-lock.json is of another version than package.json, ${version}: run npm install.`]
      : []),
    ...(run("git", "tag", "--list", gitTag) !== ""
      ? [`The tag ${gitTag} exists: ${version} is released. Raise the version in package.json.`]
      : []),
    ...(changes === ""
      ? [`CHANGELOG.md says nothing of ${version}: it needs a section '## ${version}' with what changed.`]
      : []),
  ];
  if (wrong.length > 0) throw new Refusal(`${version} cannot be released.\n${wrong.join("\n")}`);
  return changes;
}

/** Behind the number its heading may have a date. */
function sectionOf(version: string, changelog: string): string {
  const sections = changelog.replaceAll("\r\n", "\n").split(/^## /m).slice(1);
  const [heading = "", ...lines] =
    sections.map((section) => section.split("\n")).find(([first = ""]) => first.split(/[ ,]/)[0] === version) ?? [];
  return heading && lines.join("\n").trim();
}

function pack(folder: string): Packed {
  const told = run(...npm("pack", "--json", "--ignore-scripts", "--dry-run=false", "--pack-destination", folder));
  const [packed] = JSON.parse(told) as [Packed];
  return packed;
}

/** npm may ask for a password. */
function publish(file: string, npmTag: string): void {
  const [command, ...words] = npm("publish", file, "--tag", npmTag);
  const { status } = spawnSync(command, words, { cwd: root, stdio: "inherit" });
  if (status !== 0) throw new Refusal("npm did not publish it, and no tag was made.");
}

function filesByFolder({ files }: Packed): string[] {
  const folders = Object.groupBy(files, ({ path }) => (path.includes("/") ? `${path.split("/")[0]}/` : path));
  return Object.entries(folders).map(([name, inside = []]) => {
    const size = inside.reduce((sum, file) => sum + file.size, 0);
    return `  ${name.padEnd(14)} ${String(inside.length).padStart(5)}  ${kilobytes(size).padStart(9)}`;
  });
}

/** npm as it was started, by the Node that runs this: its script may want a newer one than is first on the PATH. */
function npm(...words: string[]): [string, ...string[]] {
  const script = process.env["npm_execpath"];
  return script ? [process.execPath, script, ...words] : ["npm", ...words];
}

function run(command: string, ...words: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, words, { cwd: root, encoding: "utf8" });
  if (status !== 0) {
    const said = [error?.message, stdout, stderr].filter(Boolean).join("\n").trim();
    throw new Refusal(`'${[command, ...words].join(" ")}' failed:\n${said}`);
  }
  return stdout.trimEnd();
}

function readJson(file: string): { readonly name: string; readonly version: string } {
  return JSON.parse(readFileSync(join(root, file), "utf8"));
}

function kilobytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024).toLocaleString("en-US")} kB`;
}

function some(lines: readonly string[]): string {
  const shown = lines.slice(0, 5).map((line) => line.slice(3));
  return [...shown, ...(lines.length > shown.length ? [`and ${lines.length - shown.length} more`] : [])].join(", ");
}
