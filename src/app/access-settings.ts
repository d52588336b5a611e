import { isLoopbackHost } from "../lib/loopback.ts";
import { looksRandom } from "../security/looks-random.ts";
import type { WithoutKeys } from "../security/open-access.ts";
import { Secret } from "./secret.ts";
import type { SettingReader } from "./setting-reader.ts";

/** Who may come in, and how much of it. */
export interface AccessSettings {
  /** A key with every right that is not kept on disk; empty for none. */
  readonly adminKey: Secret;
  /** null: tokens of Entra ID are not accepted. */
  readonly entra: EntraSettings | null;
  /** Host names the server is reached by, beside its address. */
  readonly allowedHosts: readonly string[];
  /** Requests a second for each key; 0: as many as they like. */
  readonly requestsPerSecond: number;
  /** What a reverse proxy says of the client, its address and whether it came by https, is believed. */
  readonly behindProxy: boolean;
  /** Who comes in while there is neither a key nor Entra ID. */
  readonly withoutKeys: WithoutKeys;
}

export interface EntraSettings {
  readonly tenantId: string;
  readonly audience: string;
  readonly authority: string;
}

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const HOST_NAME = /^[a-z0-9._-]+$/i;
const SHORTEST_KEY = 24;

export function readAccess(reader: SettingReader, host: string): AccessSettings {
  const allowedHosts = readAllowedHosts(reader);
  const behindProxy = reader.flag("BEHIND_PROXY");
  return {
    adminKey: readAdminKey(reader),
    entra: readEntra(reader),
    allowedHosts,
    requestsPerSecond: reader.number("RATE_LIMIT_PER_SECOND", 20, { min: 0, max: 100_000 }),
    behindProxy,
    withoutKeys: readWithoutKeys(reader, [host, ...allowedHosts], behindProxy),
  };
}

/** A proxy brings others in whatever names it uses: many ask for 127.0.0.1, as this machine's own users do. */
function readWithoutKeys(reader: SettingReader, hosts: readonly string[], behindProxy: boolean): WithoutKeys {
  const allowed = reader.flag("ALLOW_UNAUTHENTICATED_NETWORK_ACCESS");
  const reachable = hosts.find((name) => !isLoopbackHost(name)) ?? (behindProxy ? "a proxy" : undefined);
  if (reachable === undefined) return allowed ? "everybody" : "own account";
  if (!allowed) return "nobody";
  reader.warnings.push(
    `ALLOW_UNAUTHENTICATED_NETWORK_ACCESS is true and the server answers to ${reachable}: without keys, everyone who can reach this server can read and change everything.`,
  );
  return "everybody";
}

function readAdminKey(reader: SettingReader): Secret {
  const key = reader.text("ADMIN_API_KEY");
  if (key !== "" && (key.length < SHORTEST_KEY || new Set(key).size < 8)) {
    reader.problems.push(
      `ADMIN_API_KEY must have at least ${SHORTEST_KEY} characters that nobody can guess, for example what 'openssl rand -hex 32' prints.`,
    );
  }
  if (key !== "" && !looksRandom(key)) {
    reader.warnings.push(
      "ADMIN_API_KEY has fewer than 128 random bits as hex or base64, so it could be guessed; from an address that guessed too often it is not accepted. Make a better one with 'openssl rand -hex 32'.",
    );
  }
  return new Secret(key);
}

function readEntra(reader: SettingReader): EntraSettings | null {
  const tenantId = reader.text("ENTRA_TENANT_ID").toLowerCase();
  const audience = reader.text("ENTRA_AUDIENCE");
  const authority = reader.url("ENTRA_AUTHORITY", "refuse") || "https://login.microsoftonline.com";
  if ((tenantId === "") !== (audience === "")) {
    reader.problems.push("ENTRA_TENANT_ID and ENTRA_AUDIENCE go together: set both, or none.");
  } else if (tenantId !== "" && !GUID.test(tenantId)) {
    reader.problems.push("ENTRA_TENANT_ID must be the id of the tenant, as in its overview page: 8-4-4-4-12 digits.");
  }
  return tenantId ? { tenantId, audience, authority } : null;
}

function readAllowedHosts(reader: SettingReader): string[] {
  const names = reader
    .text("ALLOWED_HOSTS")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (!names.every((name) => HOST_NAME.test(name))) {
    reader.problems.push("ALLOWED_HOSTS must be host names without port, separated by commas, e.g. kb.example.com.");
  }
  return names;
}
