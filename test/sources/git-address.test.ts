// Addresses and branches of repositories are checked, and tokens go only to their host.
import assert from "node:assert/strict";
import { test } from "node:test";
import { BadInputError, RemoteError } from "../../src/contracts/errors.ts";
import { explainGit, readToken } from "../../src/sources/git/create-git-tree.ts";
import { findBranchProblem, parseGitAddress } from "../../src/sources/git/git-address.ts";
import { GitFailure } from "../../src/sources/git/run-git.ts";

function problemOf(written: string): string {
  const address = parseGitAddress(written);
  return typeof address === "string" ? address : `taken by ${address.protocol}`;
}

test("addresses by https, ssh and file, and absolute paths are taken", () => {
  const taken = {
    "https://github.com/o/r.git": ["https", "https://github.com/o/r.git"],
    " https://github.com/o/r/ ": ["https", "https://github.com/o/r"],
    "http://127.0.0.1:8080/r.git": ["http", "http://127.0.0.1:8080/r.git"],
    "ssh://git@example.com:2222/o/r.git": ["ssh", "ssh://git@example.com:2222/o/r.git"],
    "git@github.com:o/r.git": ["ssh", "git@github.com:o/r.git"],
    "file:///srv/a%20b.git": ["file", "/srv/a b.git"],
    "/srv//./r.git/": ["file", "/srv/r.git"],
    "/srv/a:b": ["file", "/srv/a:b"],
  };
  for (const [written, [protocol, location]] of Object.entries(taken)) {
    const address = parseGitAddress(written);
    assert.ok(typeof address !== "string", written);
    assert.deepEqual([address.protocol, address.location], [protocol, location]);
  }
});

test("what would run a program, show a secret or be read in the clear is refused", () => {
  for (const written of [
    "ext::sh -c id",
    "fd::17",
    "-o/x",
    "--upload-pack=id",
    "git://example.com/r",
    "ftp://example.com/r",
  ]) {
    assert.match(problemOf(written), /^must /, written);
  }
  for (const written of [
    "-oProxyCommand=id:r",
    "git@-oProxyCommand=id:r",
    "ssh://-oProxyCommand=id/r",
    "host:a b",
    "r.git",
    "../r",
  ]) {
    assert.match(problemOf(written), /^must /, written);
  }
  assert.match(problemOf("http://example.com/r.git"), /^must begin with https:/);
  assert.match(problemOf("https://github.com/"), /^must name the repository/);
  assert.match(problemOf("/srv/../etc"), /^must not hold "\.\."/);
  assert.match(problemOf("file://host/srv/r"), /^must name no host/);
  assert.match(problemOf("/srv/r\n.git"), /^must not hold line ends/);
  assert.match(problemOf("https://example.com/r?token=hunter2"), /^must not hold a '\?'/);
  for (const written of [
    "https://ada:hunter2@example.com/r",
    "https://hunter2@example.com/r",
    "ssh://git:hunter2@example.com/r",
  ]) {
    const problem = problemOf(written);
    assert.match(problem, /give that variable's name as 'credential'/);
    assert.ok(!problem.includes("hunter2"));
  }
});

test("branches are what git allows them to be", () => {
  for (const branch of ["", "main", "docs/live", "release-1.2", "größe", "a@b"]) {
    assert.equal(findBranchProblem(branch), undefined, branch);
  }
  const refused = [
    "-x",
    "a b",
    "a..b",
    "a~1",
    "a:b",
    "a*",
    "a/",
    "/a",
    "a//b",
    ".a",
    "a/.b",
    "a.lock",
    "@",
    "a@{1}",
    "a.",
    "a\\b",
    "refs/heads/main",
  ];
  for (const branch of refused) assert.match(findBranchProblem(branch) ?? "", /^must be the name of a branch/, branch);
});

test("a token is shown to well-known hosts, and to the one that it names itself", () => {
  const read = (location: string, held: string): string => {
    const address = parseGitAddress(location);
    assert.ok(typeof address !== "string");
    return readToken("DOCS_TOKEN", address, () => held);
  };
  assert.equal(read("https://github.com/o/r", " abc "), "abc");
  assert.equal(read("http://127.0.0.1:80/r", "ada:abc"), "ada:abc");
  assert.equal(read("https://git.example.com/r", "https://a%2Fbc@git.example.com"), "a/bc");
  assert.equal(read("https://git.example.com:8443/r", "https://ada:abc@git.example.com:8443/"), "ada:abc");
  const refused = [
    ["https://git.example.com/r", "hunter2"],
    ["https://git.example.com/r", "https://hunter2@example.com"],
    ["https://git.example.com/r", "https://hunter2@git.example.com:8443"],
    ["https://github.com.example.com/r", "hunter2"],
    ["https://github.com/o/r", "hunter2 and more"],
    ["https://github.com/o/r", "https://github.com"],
    ["ssh://git@github.com/o/r", "hunter2"],
  ] as const;
  for (const [location, held] of refused) {
    assert.throws(
      () => read(location, held),
      (error) => error instanceof BadInputError && !error.message.includes("hunter2"),
    );
  }
});

test("what git and ssh say becomes a sentence", () => {
  const said = (text: string, shown = { protocol: "https", credential: "" }): string => {
    const error = explainGit(new GitFailure(text), "https://example.com/r", shown);
    assert.ok(error instanceof RemoteError);
    return error.message.replace("Cannot read the repository https://example.com/r: ", "");
  };
  assert.match(said("fatal: unable to access 'x': Could not resolve host: example.com"), /^there is no such host\.$/);
  assert.match(
    said("ssh: Could not resolve hostname x: Name or service not known\nfatal: Could not read from remote"),
    /no such host/,
  );
  assert.match(said("Host key verification failed.\nfatal: Could not read from remote repository."), /known_hosts/);
  assert.match(said("git@x: Permission denied (publickey).\nfatal: Could not read"), /none of the ssh keys/);
  assert.match(said("fatal: detected dubious ownership in repository at '/r'"), /belongs to another account/);
  assert.match(said("fatal: unable to access 'x': SSL certificate problem: self-signed"), /certificate/);
  assert.match(
    said("remote: Repository not found.\nfatal: Authentication failed for 'x'", { protocol: "https", credential: "T" }),
    /token in T/,
  );
  assert.match(
    said("fatal: repository 'https://example.com/r/' not found"),
    /no such repository, or it is not for everybody/,
  );
  assert.equal(
    said("Receiving: 10%\rfatal: the \u001b[31mremote end hung up\n"),
    "git says 'the  [31mremote end hung up'.",
  );
});
