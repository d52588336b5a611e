// A managed identity opens blob storage, registry and queue.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { BlobServiceClient } from "@azure/storage-blob";
import forge from "node-forge";
import { findManagedIdentity } from "../../src/lib/azure.ts";
import { startAzurite } from "../azurite.ts";
import { IngestStage } from "../engine/ingest-stage.ts";

const asked: { readonly url: string; readonly header: IncomingMessage["headers"][string] }[] = [];
let status = 200;
let given = "a token of this machine";
/** As App Service and Container Apps offer it. */
const service = createServer((request, response) => {
  asked.push({ url: request.url ?? "", header: request.headers["x-identity-header"] });
  const expires = Math.floor(Date.now() / 1000) + 3600;
  const token = {
    access_token: given,
    expires_on: String(expires),
    resource: "https://storage.azure.com",
    token_type: "Bearer",
  };
  response
    .writeHead(status, { "content-type": "application/json" })
    .end(JSON.stringify(status === 200 ? token : { statusCode: status, message: "no" }));
});

const NAMES = ["IDENTITY_ENDPOINT", "IDENTITY_HEADER"] as const;
const earlier = NAMES.map((name) => process.env[name]);
before(async () => {
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  process.env.IDENTITY_ENDPOINT = `http://127.0.0.1:${(service.address() as AddressInfo).port}/msi/token`;
  process.env.IDENTITY_HEADER = "the header";
});
after(() => {
  service.closeAllConnections();
  service.close();
  for (const [i, name] of NAMES.entries()) {
    if (earlier[i] === undefined) delete process.env[name];
    else process.env[name] = earlier[i];
  }
});

test("the identity that Azure gave this machine is asked for a token for storage", async () => {
  const identity = await findManagedIdentity("11111111-2222-3333-4444-555555555555");
  const token = await identity?.getToken();
  assert.equal(token?.token, "a token of this machine");
  assert.ok((token?.expiresOnTimestamp ?? 0) > Date.now());
  const query = new URL(asked[0]?.url ?? "", "http://host").searchParams;
  assert.deepEqual(
    [query.get("resource"), query.get("client_id"), asked[0]?.header],
    ["https://storage.azure.com", "11111111-2222-3333-4444-555555555555", "the header"],
  );
});

test("an identity that gets no token is none", async () => {
  status = 400;
  assert.equal(await findManagedIdentity("99999999-2222-3333-4444-555555555555"), undefined);
});

test("the metadata service of a machine is asked, also where a cluster has it elsewhere", async () => {
  const heard: (readonly [string | undefined, string | null])[] = [];
  const metadata = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://host");
    const isAsked = request.headers["metadata"] === "true";
    if (isAsked) heard.push([pathname, searchParams.get("resource")]);
    const expires_on = String(Math.floor(Date.now() / 1000) + 3600);
    const token = { access_token: "a token of the cluster", expires_on, expires_in: "3600", token_type: "Bearer" };
    response
      .writeHead(isAsked ? 200 : 400, { "content-type": "application/json" })
      .end(JSON.stringify(isAsked ? { ...token, resource: "https://storage.azure.com" } : {}));
  });
  metadata.listen(0, "127.0.0.1");
  await once(metadata, "listening");
  const host = `http://127.0.0.1:${(metadata.address() as AddressInfo).port}`;
  // What a process found once is the source of its tokens.
  const module = JSON.stringify(import.meta.resolve("../../src/lib/azure.ts"));
  const ask = `import { findManagedIdentity } from ${module}; console.log((await (await findManagedIdentity(""))?.getToken())?.token);`;
  const { IDENTITY_ENDPOINT: _, IDENTITY_HEADER: __, ...others } = process.env;
  const env = { ...others, AZURE_POD_IDENTITY_AUTHORITY_HOST: host };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", ask], { env });
    assert.equal(stdout.trim(), "a token of the cluster");
    assert.deepEqual(heard[0], ["/metadata/identity/oauth2/token/", "https://storage.azure.com"]);
  } finally {
    metadata.closeAllConnections();
    metadata.close();
  }
});

test("registry, queue, snapshots and single blobs are opened with it, where a connection string has no key", async () => {
  status = 200;
  given = tokenFor("https://storage.azure.com");
  const folder = await mkdtemp(join(tmpdir(), "lockstep-identity-"));
  const { certificate, key } = await writeCertificate(folder);
  const azurite = await startAzurite({ more: ["--oauth", "basic", "--cert", certificate, "--key", key] });
  const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  const keyless = azurite.connectionString.replace(
    /DefaultEndpointsProtocol=[^;]*;AccountName=[^;]*;AccountKey=[^;]*;/,
    "",
  );
  const stage = await IngestStage.open({
    AZURE_STORAGE_CONNECTION_STRING: keyless,
    WEB_SNAPSHOT_KEEP_DAYS: "7",
  });
  try {
    assert.doesNotMatch(keyless, /Key/);
    stage.pages.answers.set("/otters", { text: "Otters hold hands." });
    const id = await stage.add("/otters");
    await stage.round();
    assert.deepEqual([(await stage.item(id)).status, await stage.found("Otters")], ["Indexed", ["/otters"]]);
    const service = BlobServiceClient.fromConnectionString(azurite.connectionString);
    const snapshots = service.getContainerClient("lockstep-snapshots").listBlobsFlat();
    for await (const { name } of snapshots) assert.match(name, new RegExp(`/${id}/`));
    const box = service.getContainerClient("private");
    await box.create();
    await box.getBlockBlobClient("a//seal.md").uploadData(Buffer.from("Seals sleep in the water."));
    const source = `${box.url}/a//seal.md`;
    const file = (await stage.app.ingest.addFile({ source, domainId: undefined, force: false })).id;
    await stage.round();
    const { status: fileStatus, scheduling } = await stage.item(file);
    assert.deepEqual([fileStatus, scheduling.errorMessage], ["Indexed", ""]);
    assert.equal((await stage.found("Seals")).length, 1);
  } finally {
    await stage.close();
    if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
    await azurite.stop();
    await rm(folder, { recursive: true, force: true });
  }
});

/** Enough for the emulator, which looks at what a token says and not at who signed it. */
function tokenFor(audience: string): string {
  const seconds = Math.floor(Date.now() / 1000);
  const times = { iat: seconds - 60, nbf: seconds - 60, exp: seconds + 3600 };
  const claims = { aud: audience, iss: "https://sts.windows.net/tenant/", ...times };
  const encoded = [{ alg: "none", typ: "JWT" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  return `${encoded.join(".")}.c2lnbmF0dXJl`;
}

async function writeCertificate(folder: string): Promise<{ readonly certificate: string; readonly key: string }> {
  const keys = forge.pki.rsa.generateKeyPair(2048);
  const made = forge.pki.createCertificate();
  const names = [{ name: "commonName", value: "127.0.0.1" }];
  made.publicKey = keys.publicKey;
  made.validity.notAfter = new Date(Date.now() + 3_600_000);
  made.setSubject(names);
  made.setIssuer(names);
  made.sign(keys.privateKey, forge.md.sha256.create());
  const [certificate, key] = [join(folder, "certificate.pem"), join(folder, "key.pem")];
  await writeFile(certificate, forge.pki.certificateToPem(made));
  await writeFile(key, forge.pki.privateKeyToPem(keys.privateKey));
  return { certificate, key };
}
