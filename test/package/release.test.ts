// A release says what it would publish, and is refused while something is in the way.
import assert from "node:assert/strict";
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { copyCheckout, environment, npm, ROOT, run } from "./copy-checkout.ts";

const skip = process.platform === "win32" ? "packages are linked as npm does it elsewhere" : false;
const CHANGES = "- Tents may be pitched on slopes.";
const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
let folder: string;

const git = async (...args: string[]): Promise<string> => {
  const { code, output } = await run(
    ["git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", ...args]],
    folder,
  );
  assert.equal(code, 0, output);
  return output.trim();
};
/** To a registry that nobody answers for, whatever happens. */
const release = (...args: string[]) =>
  run(npm("run", "-s", "release", ...args), folder, {
    ...environment(folder),
    npm_config_registry: "http://127.0.0.1:9/",
    npm_config_fetch_retries: "0",
  });

describe("a release", { skip }, () => {
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-release-test-"));
    await copyCheckout(folder);
    // A build of everything takes long, and is another test's.
    await mkdir(join(folder, "src/app"), { recursive: true });
    await writeFile(join(folder, "src/app/compose.ts"), "export const tents = 2;\n");
    await git("init", "-q");
    // To .gitignore, a link is no folder. The other is npm's, whose home this is.
    await writeFile(join(folder, ".git/info/exclude"), "/node_modules\n/.npm\n");
    const changelog = `# Changelog\n\n## Unreleased\n\n- Later.\n\n## ${version} (2026-01-02)\n\n${CHANGES}\n\n## 0.0.1\n\n- Earlier.\n`;
    await writeFile(join(folder, "CHANGELOG.md"), changelog);
    await git("add", "-A");
    await git("commit", "-qm", "All of it");
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("says what would be published, with two dashes or without", async () => {
    const { code, output } = await release("--", "--dry-run");
    assert.equal(code, 0, output);
    const commit = await git("rev-parse", "--short", "HEAD");
    assert.ok(
      output.startsWith(
        `lockstep ${version}, as 'latest', from the commit ${commit}, which gets the tag v${version}\n`,
      ),
      output,
    );
    assert.match(output, /^Files: \d+, [\d,]+ kB packed, [\d,]+ kB unpacked$/m);
    assert.match(output, /^ {2}dist\/ +2 +1 kB$/m);
    assert.match(
      output,
      new RegExp(`^Changes:\n\n${CHANGES.replace(".", "\\.")}\n\nNothing was published: this was a dry run\\.`, "m"),
    );
    assert.deepEqual(await release("--dry-run"), { code, output });
    assert.equal(await git("tag"), "");
  });

  it("makes no tag of what npm did not publish", async () => {
    const { code, output } = await release();
    assert.deepEqual([code, output.includes("npm did not publish it, and no tag was made.")], [1, true], output);
    assert.equal(await git("tag"), "");
  });

  it("is refused, with everything that is in the way", async () => {
    await git("tag", `v${version}`);
    await writeFile(join(folder, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n\n- Later.\n");
    await appendFile(join(folder, "README.md"), "\n");
    for (const args of [["--", "--dry-run"], []]) {
      assert.deepEqual(await release(...args), {
        code: 1,
        output: `${version} cannot be released.
The working tree has changes that are not committed: CHANGELOG.md, README.md.
The tag v${version} exists: ${version} is released. Raise the version in package.json.
CHANGELOG.md says nothing of ${version}: it needs a section '## ${version}' with what changed.
`,
      });
    }
  });
});
