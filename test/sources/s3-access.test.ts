// Every way to open a bucket works, and wrong credentials are explained.
import assert from "node:assert/strict";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { BadInputError, RemoteError } from "../../src/contracts/errors.ts";
import type { FileTree } from "../../src/contracts/file-tree.ts";
import type { Finding } from "../../src/contracts/finding.ts";
import { createS3Tree } from "../../src/sources/s3/create-s3-tree.ts";
import { findEnvironmentCredentials } from "../../src/sources/s3/environment-credentials.ts";
import { bucketUrl, isAwsHost, openBucket } from "../../src/sources/s3/open-bucket.ts";
import { pathsOf, temporaryFolder, walk } from "./blob-world.ts";
import { S3Server, sendError } from "./s3-server.ts";

const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const KEY = "AKIAIOSFODNN7EXAMPLE";

/** What container, machine and token service answer, by path. */
const answers = new Map<string, string>();
const asked: { readonly path: string; readonly headers: IncomingMessage["headers"]; readonly body: string }[] = [];
const beside = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  asked.push({ path: request.url ?? "", headers: request.headers, body });
  const answer = answers.get(request.url ?? "");
  response.writeHead(answer === undefined ? 404 : 200).end(answer ?? "");
});

let server: S3Server;
let folder: string;
let besideUs: string;
before(async () => {
  server = await S3Server.start();
  folder = await temporaryFolder();
  beside.listen(0, "127.0.0.1");
  await once(beside, "listening");
  besideUs = `http://127.0.0.1:${(beside.address() as AddressInfo).port}`;
});
after(async () => {
  await server.stop();
  beside.close();
  beside.closeAllConnections();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => {
  server.objects.clear();
  server.put("a.md", "alpha");
  server.requests.length = 0;
  server.faults.length = 0;
  server.accessKey = KEY;
  answers.clear();
  asked.length = 0;
});

/** No machine is asked for its role unless a test says where. */
type Variables = Readonly<Record<string, string>>;
const variables =
  (set: Variables) =>
  (name: string): string | undefined =>
    ({ AWS_EC2_METADATA_DISABLED: "true", ...set })[name];

function treeOf(set: Variables, config: Partial<S3Server["config"]> = {}): FileTree {
  const pace = { wait: async () => undefined };
  return createS3Tree({ ...server.config, ...config }, { variable: variables(set), timing: pace });
}

async function findingsOf(tree: FileTree): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const isTaken = (path: string): boolean => !path.endsWith(".zip");
  for await (const finding of tree.diagnose(isTaken, new AbortController().signal)) findings.push(finding);
  return findings;
}

/** What a walk fails with. Neither it nor what doctor says of the same holds a secret. */
async function refusalOf(tree: FileTree): Promise<Error> {
  const error = await walk(tree).then(
    () => assert.fail("it was read"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof RemoteError || error instanceof BadInputError, String(error));
  const findings = await findingsOf(tree);
  assert.ok(findings.some(({ outcome }) => outcome === "problem"));
  const words = [error.message, String(error.cause ?? ""), error.stack, JSON.stringify(findings)].join(" ");
  assert.ok(!words.includes(SECRET), "the secret is told");
  return error;
}

test("a key is named by its variable; its secret never travels", async () => {
  const tree = treeOf({ BOX: ` ${KEY}:${SECRET}\n` });
  assert.deepEqual(pathsOf((await walk(tree)).files), ["a.md"]);
  const [request] = server.requests;
  assert.match(
    request?.headers.authorization ?? "",
    new RegExp(`^AWS4-HMAC-SHA256 Credential=${KEY}/\\d{8}/us-east-1/s3/aws4_request, `),
  );
  assert.ok(!JSON.stringify(server.requests).includes(SECRET));
  assert.deepEqual(
    (await findingsOf(tree)).map(({ subject, outcome, detail }) => [subject, outcome, detail]),
    [
      ["Credential BOX", "ok", "The bucket is read with the key in BOX."],
      [
        `Bucket ${server.endpoint}/box`,
        "ok",
        "Of its first 1 object 1 is taken, by type and by the rules of the source.",
      ],
    ],
  );
});

test("a credential that cannot be meant is refused before anything is asked for", async () => {
  const wrong: readonly [Variables, RegExp][] = [
    [{}, /variable BOX, which the source names as its credential, is not set/],
    [{ BOX: SECRET }, /BOX must hold a key as ACCESS_KEY:SECRET/],
    [{ BOX: `:${SECRET}` }, /BOX must hold a key/],
    [{ BOX: `${KEY} ${SECRET}` }, /BOX must hold a key/],
  ];
  for (const [set, sentence] of wrong) {
    const error = await refusalOf(treeOf(set));
    assert.ok(error instanceof BadInputError);
    assert.match(error.message, sentence);
  }
  assert.equal(server.requests.length, 0);
});

test("what S3 refuses is said in a sentence with what to do", async () => {
  const held = { BOX: `${KEY}:${SECRET}` };
  const gone = await refusalOf(treeOf(held, { bucket: "nowhere" }));
  assert.match(gone.message, /\/nowhere: there is no such bucket$/);
  server.accessKey = "ANOTHERKEY";
  assert.match(
    (await refusalOf(treeOf(held))).message,
    /S3 refuses \(403 InvalidAccessKeyId\); check the key in BOX, and that it allows s3:ListBucket and s3:GetObject/,
  );
  for (const [status, code, headers, sentence] of [
    [301, "PermanentRedirect", { "x-amz-bucket-region": "eu-central-1" }, /lies in the region 'eu-central-1'; set/],
    [400, "AuthorizationHeaderMalformed", { "x-amz-bucket-region": "eu-west-1" }, /lies in the region 'eu-west-1'/],
    [403, "RequestTimeTooSkewed", {}, /the clock of this machine is wrong/],
    [400, "ExpiredToken", {}, /S3 refuses \(400 ExpiredToken\)/],
    [418, `${SECRET}<b>`, {}, /: S3 answered 418$/],
  ] as const) {
    for (let i = 0; i < 2; i++) server.faults.push((_request, response) => sendError(response, status, code, headers));
    assert.match((await refusalOf(treeOf(held))).message, sentence);
  }
});

test("no server listens there, and the clear is for this machine only", async () => {
  const closed = createServer().listen(0, "127.0.0.1");
  await once(closed, "listening");
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, "close");
  const held = { BOX: `${KEY}:${SECRET}` };
  assert.match((await refusalOf(treeOf(held, { endpoint: `http://127.0.0.1:${port}` }))).message, /connection refused/);
  assert.match((await refusalOf(treeOf(held, { endpoint: "http://example.com" }))).message, /needs https/);
});

test("without a credential: the keys of the environment, its role, then as anybody", async () => {
  const open = { credential: "" };
  const keys = { AWS_ACCESS_KEY_ID: KEY, AWS_SECRET_ACCESS_KEY: SECRET };
  assert.deepEqual(pathsOf((await walk(treeOf(keys, open))).files), ["a.md"]);
  assert.match((await refusalOf(treeOf({}, open))).message, /only public buckets can be read: name an environment/);
  // Keys that may not are no reason not to read what everybody may.
  server.faults.push((_request, response) => sendError(response, 403, "AccessDenied"));
  server.accessKey = "";
  const [credential] = await findingsOf(treeOf(keys, open));
  assert.equal(credential?.detail, "The bucket is read with no credential.");
  server.requests.length = 0;
  await walk(treeOf({}, open));
  assert.equal(server.requests[0]?.headers.authorization, undefined);
});

const given = (expiration: string | number, token: string): object => ({
  AccessKeyId: KEY,
  SecretAccessKey: SECRET,
  [token]: "the-session-token",
  Expiration: expiration,
});
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString();

test("the role of a container is asked for, with its token, and again before it ends", async () => {
  answers.set("/role", JSON.stringify(given(inAnHour(), "Token")));
  const file = join(folder, "token");
  await writeFile(file, "let me in\n");
  const set = {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${besideUs}/role`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
  };
  assert.deepEqual(pathsOf((await walk(treeOf(set, { credential: "" }))).files), ["a.md"]);
  assert.equal(server.requests[0]?.headers["x-amz-security-token"], "the-session-token");
  assert.deepEqual(
    asked.map(({ path, headers }) => [path, headers.authorization]),
    [["/role", "let me in"]],
  );
  answers.set("/role", JSON.stringify(given(new Date(Date.now() + 60_000).toISOString(), "Token")));
  const found = await findEnvironmentCredentials(variables(set), true);
  await found?.current();
  await found?.current();
  assert.equal(asked.length, 3);
  const elsewhere = { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://example.com/role" };
  const error = await walk(treeOf(elsewhere, { credential: "" })).catch((reason: unknown) => reason);
  assert.match(String(error), /must be https, or an address of this machine/);
});

test("the role of a machine and a web identity give keys, too", async () => {
  const roles = "/latest/meta-data/iam/security-credentials/";
  answers.set("/latest/api/token", "of the metadata");
  answers.set(roles, "reader");
  answers.set(`${roles}reader`, JSON.stringify(given(inAnHour(), "Token")));
  const machine = { AWS_EC2_METADATA_DISABLED: "", AWS_EC2_METADATA_SERVICE_ENDPOINT: besideUs };
  const ofMachine = await findEnvironmentCredentials(variables(machine), true);
  assert.equal(ofMachine?.access, "the role of this machine");
  assert.equal((await ofMachine?.current())?.secretAccessKey, SECRET);
  assert.equal(asked.at(-1)?.headers["x-aws-ec2-metadata-token"], "of the metadata");
  answers.clear();
  assert.equal(await findEnvironmentCredentials(variables(machine), true), undefined);

  const file = join(folder, "identity");
  await writeFile(file, "a web identity\n");
  const response = {
    AssumeRoleWithWebIdentityResponse: {
      AssumeRoleWithWebIdentityResult: { Credentials: given(Date.now() / 1000 + 3600, "SessionToken") },
    },
  };
  answers.set("/", JSON.stringify(response));
  const web = {
    AWS_WEB_IDENTITY_TOKEN_FILE: file,
    AWS_ROLE_ARN: "arn:aws:iam::1:role/r",
    AWS_ENDPOINT_URL_STS: besideUs,
  };
  const ofWeb = await findEnvironmentCredentials(variables(web), true);
  assert.equal((await ofWeb?.current())?.sessionToken, "the-session-token");
  const form = new URLSearchParams(asked.at(-1)?.body);
  assert.deepEqual(
    ["Action", "RoleArn", "WebIdentityToken"].map((name) => form.get(name)),
    ["AssumeRoleWithWebIdentity", "arn:aws:iam::1:role/r", "a web identity"],
  );
  answers.clear();
  await assert.rejects(
    (await findEnvironmentCredentials(variables(web), true))?.current() ?? Promise.resolve(),
    /the response has none \(404\)/,
  );
});

test("session tokens of this machine are shown to S3 alone", async () => {
  const set = {
    AWS_ACCESS_KEY_ID: KEY,
    AWS_SECRET_ACCESS_KEY: SECRET,
    AWS_SESSION_TOKEN: "the-session-token",
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${besideUs}/role`,
  };
  const elsewhere = { bucket: "box", endpoint: "https://minio.example.com", region: "us-east-1", credential: "" };
  assert.equal((await openBucket(elsewhere, variables(set))).access, "no credential");
  assert.equal(asked.length, 0);
  const aws = ["s3.amazonaws.com", "b.s3.eu-central-1.amazonaws.com", "s3.cn-north-1.amazonaws.com.cn"];
  assert.deepEqual(aws.filter(isAwsHost), aws);
  const others = [
    ...["minio.example.com", "b.s3.eu-central-1.amazonaws.com.example.com", "amazonaws.com"],
    ...["ec2-3-1-1-1.compute.amazonaws.com", "xs3.amazonaws.com"],
  ];
  assert.deepEqual(others.filter(isAwsHost), []);
});

test("buckets of AWS have hosts of their own, unless a dot in the name spoils the certificate", () => {
  assert.equal(bucketUrl("box", "", "eu-central-1"), "https://box.s3.eu-central-1.amazonaws.com");
  assert.equal(bucketUrl("my.box", "", "us-east-1"), "https://s3.us-east-1.amazonaws.com/my.box");
  assert.equal(bucketUrl("box", "", "cn-north-1"), "https://box.s3.cn-north-1.amazonaws.com.cn");
  assert.equal(bucketUrl("box", "https://minio.example.com", "us-east-1"), "https://minio.example.com/box");
});
