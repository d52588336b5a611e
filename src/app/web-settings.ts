import type { DomainId } from "../contracts/ids.ts";
import { AZURE_SERVICES, endpointsBeside, endpointsIn, type IdentityAccount } from "../lib/azure-account.ts";
import type { CheckPolicy } from "../plan/web/schedule-item.ts";
import { Secret } from "./secret.ts";
import type { SettingReader } from "./setting-reader.ts";

/** How web sites are asked, and where what is known of them is kept. */
export interface WebSettings {
  readonly contactUrl: string;
  readonly allowPrivateNetworks: boolean;
  readonly requestsPerHost: number;
  readonly hostDelayMs: number;
  readonly timeoutSeconds: number;
  /** Of one crawl, over all hosts. */
  readonly pagesAtOnce: number;
  readonly maxBytes: number;
  readonly keepSnapshotsDays: number;
  readonly render: { readonly enabled: boolean; readonly browserPath: string };
  readonly trackingPrefixes: readonly string[];
  readonly images: {
    readonly minWidth: number;
    readonly minHeight: number;
    readonly minArea: number;
    readonly minBytes: number;
    readonly maxAspect: number;
    readonly enableSvg: boolean;
  };
  readonly checks: CheckPolicy & {
    /** How often the timer looks for what is due. */
    readonly timerSeconds: number;
    readonly itemsAtOnce: number;
    readonly keepGoneDays: number;
  };
  readonly defaultDomain: DomainId;
  readonly registry: StorePlace & { readonly tableName: string; readonly partitions: "host" | "scheme" };
  readonly queue: StorePlace;
  /** Of the settings, whatever is kept there. */
  readonly account: StorageAccount | undefined;
}

/** database: SQLite, or PostgreSQL where DATABASE_URL names one. */
type StorePlace = { readonly kind: "database" } | { readonly kind: "azure"; readonly account: StorageAccount };

/** As AzureAccount, its secret hidden. */
export type StorageAccount =
  | { readonly kind: "connection string"; readonly connectionString: Secret }
  | IdentityAccount;

const SECONDS_OF_A_YEAR = 31_536_000;

export function readWebSettings(reader: SettingReader): WebSettings {
  const count = (name: string, usual: number, max: number, min = 0): number => reader.number(name, usual, { min, max });
  const goneSpacingSeconds = count("CRAWL_GONE_SPACING_SECONDS", 3600, SECONDS_OF_A_YEAR);
  return {
    contactUrl: reader.url("WEB_CONTACT_URL", "warn"),
    allowPrivateNetworks: reader.flag("WEB_ALLOW_PRIVATE_NETWORKS"),
    requestsPerHost: count("WEB_REQUESTS_PER_HOST", 4, 64, 1),
    hostDelayMs: count("WEB_HOST_DELAY_MS", 100, 3_600_000),
    pagesAtOnce: count("WEB_PAGES_AT_ONCE", 16, 256, 1),
    timeoutSeconds: count("WEB_TIMEOUT_SECONDS", 30, 3600, 1),
    maxBytes: count("WEB_MAX_MEGABYTES", 50, 512, 1) * 1024 * 1024,
    keepSnapshotsDays: count("WEB_SNAPSHOT_KEEP_DAYS", 0, 36_500),
    render: { enabled: reader.flag("WEB_RENDER"), browserPath: reader.text("WEB_BROWSER_PATH") },
    trackingPrefixes: reader
      .text("TRACKING_PARAM_PREFIXES", "utm_, gclid, fbclid, msclkid")
      .split(",")
      .map((prefix) => prefix.trim().toLowerCase())
      .filter((prefix) => prefix !== ""),
    images: {
      minWidth: count("IMAGE_MIN_WIDTH", 128, 10_000),
      minHeight: count("IMAGE_MIN_HEIGHT", 128, 10_000),
      minArea: count("IMAGE_MIN_AREA", 16_384, 100_000_000),
      minBytes: count("IMAGE_MIN_BYTES", 5000, 100_000_000),
      maxAspect: count("IMAGE_MAX_ASPECT", 6, 1000, 1),
      enableSvg: reader.flag("IMAGE_ENABLE_SVG"),
    },
    checks: {
      baseIntervalSeconds: count("CRAWL_BASE_INTERVAL_SECONDS", 86_400, SECONDS_OF_A_YEAR, 1),
      maxIntervalSeconds: count("CRAWL_MAX_INTERVAL_SECONDS", 1_209_600, SECONDS_OF_A_YEAR, 1),
      errorBackoffSeconds: count("CRAWL_ERROR_BACKOFF_BASE", 600, SECONDS_OF_A_YEAR, 1),
      goneSpacingSeconds,
      movedSpacingSeconds: count("CRAWL_MOVED_SPACING_SECONDS", goneSpacingSeconds, SECONDS_OF_A_YEAR),
      forceOnCanonicalChange: reader.choice("FORCE_REINDEX_ON_CANONICAL_CHANGE", ["true", "false"]) === "true",
      timerSeconds: count("CRAWL_TIMER_SECONDS", 60, 86_400, 1),
      itemsAtOnce: count("CRAWL_ITEMS_AT_ONCE", 4, 64, 1),
      keepGoneDays: count("REGISTRY_GONE_KEEP_DAYS", 30, 36_500),
    },
    defaultDomain: readDefaultDomain(reader),
    ...readPlaces(reader),
  };
}

function readDefaultDomain(reader: SettingReader): DomainId {
  const given = reader.text("INGEST_DEFAULT_DOMAIN", "INGEST");
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(given)) {
    reader.problems.push("INGEST_DEFAULT_DOMAIN must be 1 to 64 letters, digits, underscores or hyphens.");
  }
  return given as DomainId;
}

function readPlaces(reader: SettingReader): Pick<WebSettings, "registry" | "queue" | "account"> {
  const account = readAccount(reader);
  const place = (name: string): StorePlace => {
    const chosen = reader.choice(name, ["auto", "database", "azure"]);
    if (chosen === "azure" && !account) {
      reader.problems.push(
        `AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT_URL is needed, because ${name} is azure.`,
      );
    }
    return chosen === "database" || !account ? { kind: "database" } : { kind: "azure", account };
  };
  const tableName = reader.text("REGISTRY_TABLE_NAME", "IngestItems");
  if (!/^[A-Za-z][A-Za-z0-9]{2,55}$/.test(tableName)) {
    reader.problems.push("REGISTRY_TABLE_NAME must be 3 to 56 letters and digits, beginning with a letter.");
  }
  const partitions = reader.choice("REGISTRY_PARTITION_STRATEGY", ["host", "scheme"]);
  return {
    registry: { ...place("REGISTRY_STORE"), tableName, partitions },
    queue: place("INGEST_QUEUE_STORE"),
    account,
  };
}

/** A key or signature goes before an address; without either, the managed identity of the machine is what opens the account. */
function readAccount(reader: SettingReader): StorageAccount | undefined {
  const connection = reader.text("AZURE_STORAGE_CONNECTION_STRING");
  const address = reader.url("AZURE_STORAGE_ACCOUNT_URL", "refuse");
  const clientId = reader.text("AZURE_MANAGED_IDENTITY_CLIENT_ID");
  const told = connection ? endpointsIn(connection) : undefined;
  if (connection && !told) return { kind: "connection string", connectionString: new Secret(connection) };
  if (told) {
    if (AZURE_SERVICES.some((service) => URL.parse(told[service])?.protocol !== "https:")) {
      reader.problems.push(
        "AZURE_STORAGE_CONNECTION_STRING has neither a key nor a signature, so its endpoints must begin with https://: a token is shown to no other.",
      );
      return undefined;
    }
    return { kind: "identity", endpoints: told, clientId };
  }
  const url = URL.parse(address);
  const endpoints = url && endpointsBeside(url);
  if (url && !endpoints) {
    reader.problems.push("AZURE_STORAGE_ACCOUNT_URL must be as https://ACCOUNT.blob.core.windows.net.");
  }
  return endpoints ? { kind: "identity", endpoints, clientId } : undefined;
}
