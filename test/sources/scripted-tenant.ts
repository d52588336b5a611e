import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { readPemCertificate } from "../../src/app/sharepoint-settings.ts";
import type { ItemId, SourceId } from "../../src/contracts/ids.ts";
import type { Completeness, ItemRef, Sighting, Source, Unreadable } from "../../src/contracts/source.ts";
import type { FileSourceConfig } from "../../src/sources/sharepoint/sharepoint-source-codec.ts";
import type { ClientCertificate } from "../../src/sources/sharepoint/sign-in.ts";
import { ofKind } from "../kinds.ts";

/** Quick enough for tests, with every rule still in force. */
export const QUICK = {
  retry: { attempts: 3, firstMs: 1, longestMs: 4 },
  timeouts: { connectMs: 5_000, headersMs: 5_000, idleMs: 5_000 },
};

export function clientCertificateOf(pem: string): ClientCertificate {
  const { certificatePem, privateKeyPem } = readPemCertificate(pem, "", "test");
  return { certificatePem, privateKeyPem: privateKeyPem.reveal() };
}

export function sourceConfig(siteUrl: string, urlPart = "/Shared Documents", filter = ""): FileSourceConfig {
  return {
    sourceId: "docs" as SourceId,
    ...ofKind("file_sources"),
    siteUrl,
    urlPart,
    filter,
    limits: { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false },
  };
}

export interface Listed {
  readonly sightings: Sighting[];
  readonly unreadable: Unreadable[];
  readonly completeness: Completeness;
}

export async function listAll(source: Source, signal: AbortSignal = new AbortController().signal): Promise<Listed> {
  const sightings: Sighting[] = [];
  const unreadable: Unreadable[] = [];
  const listing = source.list(signal);
  for (;;) {
    const step = await listing.next();
    if (step.done) return { sightings, unreadable, completeness: step.value };
    for (const each of step.value) {
      if (each.kind === "sighting") sightings.push(each);
      else if (each.kind === "unreadable") unreadable.push(each);
    }
  }
}

export async function fetchText(source: Source, item: ItemRef): Promise<string> {
  const fetched = await source.fetch(item, new AbortController().signal);
  if (fetched.status !== "fetched") return fetched.status;
  return await readAll(fetched.body);
}

export async function readAll(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

/** A row of a library as SharePoint sends it. */
export function rowOf(id: number, name: string): Record<string, unknown> {
  const uniqueId = `00000000-0000-4000-8000-${String(id).padStart(12, "0")}`;
  const file = { Length: "5", TimeLastModified: "2024-01-01T00:00:00Z", ETag: `"{X},1"`, ContentTag: "{X},1,1" };
  return {
    Id: id,
    UniqueId: uniqueId,
    FileSystemObjectType: 0,
    FileRef: `/sites/s/Shared Documents/${name}`,
    File: file,
  };
}

export function itemRefOf(id: number): ItemRef {
  return {
    itemId: rowOf(id, "")["UniqueId"] as string as ItemId,
    listItemId: id,
    name: "a.txt",
    path: "a.txt",
    serverPath: "/sites/s/Shared Documents/a.txt",
    fingerprint: { size: 5, modifiedAt: "", etag: "", contentVersion: "" },
  };
}

export type Script = (request: IncomingMessage, response: ServerResponse, url: URL) => boolean | undefined;

export interface ScriptedTenant {
  readonly url: string;
  readonly siteUrl: string;
  readonly tokenEndpoint: string;
  /** Paths with query, in the order they came. */
  readonly requests: string[];
  close(): Promise<void>;
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): true {
  response.writeHead(status, { "content-type": "application/json;odata=nometadata", ...headers });
  response.end(JSON.stringify(body));
  return true;
}

/**
 * A server that misbehaves exactly as told, where the sandbox, being faithful, would not: the script answers a request
 * and returns true, or leaves it to a site with one empty library.
 */
export async function startScriptedTenant(script: Script): Promise<ScriptedTenant> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://x");
    requests.push(request.url ?? "");
    if (script(request, response, url)) return;
    if (url.pathname.endsWith("/token")) {
      sendJson(response, 200, { token_type: "Bearer", expires_in: 3599, access_token: `t${requests.length}` });
    } else if (url.pathname.endsWith("/_api/web")) {
      sendJson(response, 200, { Title: "S", ServerRelativeUrl: "/sites/s" });
    } else if (url.pathname.includes("GetListUsingPath")) {
      const root = { ServerRelativeUrl: "/sites/s/Shared Documents" };
      sendJson(response, 200, {
        Id: "13326e70-58ba-4e0e-9b30-08189f21d555",
        Title: "D",
        ItemCount: 0,
        RootFolder: root,
      });
    } else {
      sendJson(response, 200, { value: [] });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    siteUrl: `${url}/sites/s`,
    tokenEndpoint: `${url}/tenant/oauth2/v2.0/token`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
