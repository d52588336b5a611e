import { ConfidentialClientApplication } from "@azure/msal-node";
import { readConfig } from "../src/app/config.ts";

/** The same pages with the same fields as the product asks for, by plain fetch. Nothing is compared or kept. */
const SELECT =
  "Id,UniqueId,FileSystemObjectType,FileRef,FileLeafRef,File/UniqueId,File/Name,File/Length,File/ServerRelativeUrl,File/TimeLastModified,File/ETag,File/ContentTag";

export async function listAll(
  site: string,
  token: string,
  use: (row: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, accept: "application/json;odata=nometadata" };
  const library = encodeURIComponent("/sites/demo/Shared Documents");
  let next: string | undefined =
    `${site}/_api/web/GetListUsingPath(DecodedUrl=@u)/items?@u='${library}'&$select=${SELECT}&$expand=File&$top=2000`;
  while (next) {
    const response: Response = await fetch(next, { headers });
    const page = (await response.json()) as { value: Record<string, unknown>[]; "odata.nextLink"?: string };
    for (const row of page.value) use(row);
    next = page["odata.nextLink"];
  }
}

export async function signIn(origin: string): Promise<string> {
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
