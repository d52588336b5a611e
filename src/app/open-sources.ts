import type { Converter } from "../contracts/converter.ts";
import type { SourceConfig, SourceType } from "../contracts/domain.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { Source } from "../contracts/source.ts";
import { createListConverter } from "../sources/sharepoint/lists/list-converter.ts";
import { openSharePointList } from "../sources/sharepoint/lists/open-sharepoint-list.ts";
import { openSharePointLibrary } from "../sources/sharepoint/open-sharepoint-library.ts";
import { openSharePointPages } from "../sources/sharepoint/pages/open-sharepoint-pages.ts";
import { createPageConverter } from "../sources/sharepoint/pages/page-converter.ts";
import {
  createSharePointConnection,
  type SharePointConnection,
  type SharePointConnectionOptions,
} from "../sources/sharepoint/sharepoint-connection.ts";
import type { Waited } from "../sources/sharepoint/throttle-gate.ts";
import type { Config } from "./config.ts";

/** For the kinds whose originals are no documents yet. */
const CONVERTERS: Partial<Record<SourceType, () => Converter>> = {
  list_sources: createListConverter,
  sitepage_sources: createPageConverter,
};

/** How the connection to SharePoint waits, where the usual patience does not fit: tests have none. */
export type Pace = Pick<SharePointConnectionOptions, "retry" | "timeouts">;

export function openConverter({ sourceType }: SourceConfig): Converter | undefined {
  return CONVERTERS[sourceType]?.();
}

export function openSource(
  source: SourceConfig,
  connection: SharePointConnection,
  log: (line: string) => void,
): Source {
  const options = { onWait: (reason: string, ms: number) => log(`Waiting ${Math.ceil(ms / 1000)} s: ${reason}`) };
  switch (source.sourceType) {
    case "file_sources":
      return openSharePointLibrary(source, connection, options);
    case "list_sources":
      return openSharePointList(source, connection, options);
    case "sitepage_sources":
      return openSharePointPages(source, connection, options);
  }
}

export type LazyConnection = (() => SharePointConnection) & { waited(): Waited; close(): Promise<void> };

/** One connection for all sources, opened when the first one needs it: most commands never sign in. */
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
