import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as EarlierStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as EarlierHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { Reading } from "./ask.ts";

/** What the tests ask of a client, whichever package and revision it speaks. */
export interface McpClient {
  readonly revision: string | undefined;
  readonly capabilities: Reading;
  tools(): Promise<Reading>;
  /** Throws for an error of the protocol; an error of the tool is a result. */
  call(name: string, args: Record<string, unknown>): Promise<ToolAnswer>;
  resources(cursor?: string): Promise<Reading>;
  read(uri: string): Promise<Reading>;
  /** Resolves when the server agreed. `told` gets the methods of notices, and their documents. */
  listen(uris: readonly string[], told: (notice: string) => void): Promise<void>;
  close(): Promise<void>;
}

export interface ToolAnswer {
  readonly isError: boolean;
  /** `structuredContent`. */
  readonly data: Reading;
  /** Of the only content block. */
  readonly text: string;
}

/** How a client reaches the server: over HTTP, or by starting a command. */
export type Reach =
  | { readonly url: string; readonly headers?: Record<string, string> }
  | { readonly command: string; readonly args: string[]; readonly env: Record<string, string>; readonly cwd: string };

const NAME = { name: "test", version: "1" };

/** Both packages, both eras. */
export const CLIENTS: Readonly<Record<string, (reach: Reach) => Promise<McpClient>>> = {
  "client 2.x at 2026-07-28": (reach) => openNew(reach, { pin: "2026-07-28" }),
  "client 2.x as it negotiates": (reach) => openNew(reach, "auto"),
  "client 2.x at 2025-11-25": (reach) => openNew(reach, "legacy"),
  "sdk 1.x": openEarlier,
};

async function openNew(reach: Reach, mode: "auto" | "legacy" | { pin: string }): Promise<McpClient> {
  const client = new Client(NAME, { versionNegotiation: { mode } });
  const transport =
    "url" in reach
      ? new StreamableHTTPClientTransport(new URL(`${reach.url}/mcp`), {
          requestInit: { headers: reach.headers ?? {} },
        })
      : new StdioClientTransport({ ...reach, stderr: "inherit" });
  await client.connect(transport);
  return {
    revision: client.getNegotiatedProtocolVersion(),
    capabilities: client.getServerCapabilities() as unknown as Reading,
    tools: async () => (await client.listTools()) as unknown as Reading,
    call: async (name, args) => toAnswer(await client.callTool({ name, arguments: args })),
    resources: async (cursor) => (await client.listResources({ ...(cursor && { cursor }) })) as unknown as Reading,
    read: async (uri) => (await client.readResource({ uri }, { cacheMode: "bypass" })) as unknown as Reading,
    async listen(uris, told) {
      client.setNotificationHandler("notifications/resources/list_changed", () => told("list"));
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => told(params.uri));
      if (client.getProtocolEra() === "modern") {
        await client.listen({ resourcesListChanged: true, resourceSubscriptions: [...uris] });
      } else for (const uri of uris) await client.subscribeResource({ uri });
    },
    close: () => client.close(),
  };
}

async function openEarlier(reach: Reach): Promise<McpClient> {
  const client = new EarlierClient(NAME);
  const transport =
    "url" in reach
      ? new EarlierHttp(new URL(`${reach.url}/mcp`), { requestInit: { headers: reach.headers ?? {} } })
      : new EarlierStdio({ ...reach, stderr: "inherit" });
  // The package's own types disagree under exactOptionalPropertyTypes.
  await client.connect(transport as unknown as Parameters<typeof client.connect>[0]);
  return {
    revision: "protocolVersion" in transport ? String(transport.protocolVersion) : "2025-11-25",
    capabilities: client.getServerCapabilities() as unknown as Reading,
    tools: async () => (await client.listTools()) as unknown as Reading,
    call: async (name, args) => toAnswer(await client.callTool({ name, arguments: args })),
    resources: async (cursor) => (await client.listResources({ ...(cursor && { cursor }) })) as unknown as Reading,
    read: async (uri) => (await client.readResource({ uri })) as unknown as Reading,
    async listen(uris, told) {
      client.setNotificationHandler(ResourceListChangedNotificationSchema, () => told("list"));
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => told(params.uri));
      for (const uri of uris) await client.subscribeResource({ uri });
    },
    close: () => client.close(),
  };
}

function toAnswer(result: unknown): ToolAnswer {
  const {
    isError = false,
    structuredContent,
    content,
  } = result as {
    isError?: boolean;
    structuredContent?: Reading;
    content: readonly { readonly type: string; readonly text: string }[];
  };
  if (content.length !== 1 || content[0]?.type !== "text")
    throw new Error(`one text was expected: ${JSON.stringify(content)}`);
  return { isError, data: structuredContent as Reading, text: content[0].text };
}
