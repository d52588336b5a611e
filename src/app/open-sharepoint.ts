import { BadInputError } from "../contracts/errors.ts";
import type { Waited } from "../lib/pace.ts";
import {
  createSharePointConnection,
  type SharePointConnection,
  type SharePointConnectionOptions,
} from "../sources/sharepoint/sharepoint-connection.ts";
import type { Config } from "./config.ts";

/** Waits and timeouts of the connection to SharePoint; tests shorten them. */
export type Pace = Pick<SharePointConnectionOptions, "retry" | "timeouts">;

export type LazyConnection = (() => SharePointConnection) & { waited(): Waited; close(): Promise<void> };

/** Returns one connection for all sources, opened when the first one needs it: most commands never sign in. */
export function openSharePoint(config: Config, pace: Pace): LazyConnection {
  let connection: SharePointConnection | undefined;
  const open = (): SharePointConnection => {
    const { sharepoint } = config;
    if (!sharepoint) {
      throw new BadInputError(
        "SharePoint is not configured. Set CRAWLER_TENANT_ID, CRAWLER_CLIENT_ID and a certificate (see .env.example).",
      );
    }
    connection ??= createSharePointConnection({
      ...sharepoint,
      certificate: { ...sharepoint.certificate, privateKeyPem: sharepoint.certificate.privateKeyPem.reveal() },
      tokenEndpoint: sharepoint.tokenEndpoint || undefined,
      ...pace,
    });
    return connection;
  };
  return Object.assign(open, {
    waited: () => connection?.waited() ?? { ms: 0, pauses: 0 },
    close: async () => {
      await connection?.close();
    },
  });
}
