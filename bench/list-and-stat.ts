import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { ConfidentialClientApplication } from "@azure/msal-node";
import { readConfig } from "../src/app/config.ts";
import { forEachConcurrent } from "../src/lib/concurrency.ts";
import { report } from "./measure.ts";

/** The same pages with the same fields, by plain fetch; then one stat for every file of the mirror. Nothing is compared or kept. */
const SELECT =
  "Id,UniqueId,FileSystemObjectType,FileRef,FileLeafRef,File/UniqueId,File/Name,File/Length,File/ServerRelativeUrl,File/TimeLastModified,File/ETag,File/ContentTag";

await report(async () => {
  const site = process.env["BENCH_SITE"] ?? "";
  const token = await signIn(new URL(site).origin);
  const headers = { authorization: `Bearer ${token}`, accept: "application/json;odata=nometadata" };
  let rows = 0;
  let next: string | undefined =
    `${site}/_api/web/GetListUsingPath(DecodedUrl=@u)/items?@u='${encodeURIComponent("/sites/demo/Shared Documents")}'&$select=${SELECT}&$expand=File&$top=2000`;
  while (next) {
    const response: Response = await fetch(next, { headers });
    const page = (await response.json()) as { value: unknown[]; "odata.nextLink"?: string };
    rows += page.value.length;
    next = page["odata.nextLink"];
  }
  return {
    rows,
    files: await statAll(join(process.env["PERSISTENT_STORAGE_PATH"] ?? "", "crawler/BENCH/01_files/bulk/02_embedded")),
  };
});

async function statAll(folder: string): Promise<number> {
  let files = 0;
  const names: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) files += await statAll(join(folder, entry.name));
    else names.push(join(folder, entry.name));
  }
  await forEachConcurrent(names, 32, async (name) => {
    await stat(name);
    files += 1;
  });
  return files;
}

async function signIn(origin: string): Promise<string> {
  const { sharepoint } = readConfig(process.env);
  if (!sharepoint) throw new Error("the sandbox settings are missing");
  const metadata = {
    issuer: `https://login.microsoftonline.com/${sharepoint.tenantId}/v2.0`,
    token_endpoint: sharepoint.tokenEndpoint,
    authorization_endpoint: "https://login.microsoftonline.com/x",
    jwks_uri: "https://login.microsoftonline.com/x",
    end_session_endpoint: "https://login.microsoftonline.com/x",
  };
  const client = new ConfidentialClientApplication({
    auth: {
      clientId: sharepoint.clientId,
      authority: `https://login.microsoftonline.com/${sharepoint.tenantId}`,
      authorityMetadata: JSON.stringify(metadata),
      clientCertificate: {
        thumbprintSha256: sharepoint.certificate.thumbprint,
        privateKey: sharepoint.certificate.privateKeyPem.reveal(),
      },
    },
  });
  const answer = await client.acquireTokenByClientCredential({ scopes: [`${origin}/.default`] });
  return answer?.accessToken ?? "";
}
