import { X509Certificate } from "node:crypto";
import { rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SourceConfig } from "../contracts/domain.ts";
import type { Finding } from "../contracts/finding.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { SourceOptions, SourceRun } from "../contracts/source-kind.ts";
import { examine, examineOneSource, type PlacedFinding } from "../engine/doctor.ts";
import type { EngineParts } from "../engine/engine-parts.ts";
import { errorCode } from "../lib/explain-network.ts";
import type { Config } from "./config.ts";
import { examineIndex, type IndexFacts } from "./examine-index.ts";
import { openSharePoint } from "./open-sharepoint.ts";
import type { OpenedWeb } from "./open-web.ts";
import type { SharePointSettings } from "./sharepoint-settings.ts";
import { listKinds, type TreeConnections } from "./source-kinds.ts";
import { examineRights } from "./storage-rights.ts";

interface Examined {
  readonly config: Config;
  readonly facts: IndexFacts;
  readonly parts: EngineParts;
  readonly web: OpenedWeb;
  readonly trees: TreeConnections;
  readonly readers: () => Finding;
}

/** Uses a connection of its own: a fresh token shows the current consents, and its short retries suit a waiting user. */
export async function* examineWith(
  { config, facts, parts, web, trees, readers }: Examined,
  what: DomainId | SourceConfig | undefined,
  signal: AbortSignal,
): AsyncGenerator<PlacedFinding, void> {
  const sharepoint = openSharePoint(config, {
    // While a user types a source, the result must come before the next key.
    retry: typeof what === "object" ? { attempts: 1, maxWaitMs: 5_000 } : { attempts: 2, maxWaitMs: 20_000 },
  });
  // A source that is new or edited is checked with the rules for saving it.
  const asked =
    typeof what === "object" ? { ...trees, roots: { ...trees.roots, forSources: trees.roots.forChanges } } : trees;
  const kinds = listKinds(() => ({ ...parts, sharepoint, web, trees: asked }));
  const doctorParts = {
    ...parts,
    openSource: (run: SourceRun, options: SourceOptions) =>
      (kinds.find(run.config.sourceType) ?? run.config.kind).open(run, options),
    async *examineInstallation(needs: { readonly sharepoint: boolean }) {
      yield* examineInstallation(config, needs);
      yield* examineIndex(facts);
      // Starting a browser takes a while.
      if (typeof what !== "object") yield* web.examine();
      if (typeof what !== "object") yield* trees.roots.examine();
      if (typeof what !== "object") yield readers();
    },
  };
  try {
    if (typeof what === "object") yield* examineOneSource(what, doctorParts, signal);
    else yield* examine(what, doctorParts, signal);
  } finally {
    await sharepoint.close();
  }
}

/** Checks settings, certificate and storage: everything that needs no network. */
async function* examineInstallation(
  config: Config,
  needs: { readonly sharepoint: boolean },
): AsyncGenerator<Finding, void> {
  const { sharepoint } = config;
  yield sharepoint || needs.sharepoint ? examineSettings(sharepoint) : NOT_NEEDED;
  if (sharepoint) yield examineCertificate(sharepoint, new Date());
  else yield { subject: "Certificate", outcome: "not checked", detail: "None is configured.", remedy: "" };
  yield await examineStorage(config.storagePath);
  yield await examineRights(config);
}

const NOT_NEEDED: Finding = {
  subject: "Settings",
  outcome: "not checked",
  detail: "SharePoint is not configured, and no source needs it.",
  remedy: "",
};

function examineSettings(sharepoint: SharePointSettings | null): Finding {
  const subject = "Settings";
  if (sharepoint) {
    const { tenantId, clientId, tokenEndpoint } = sharepoint;
    const where = tokenEndpoint ? `, signing in at ${new URL(tokenEndpoint).origin}` : "";
    return { subject, outcome: "ok", detail: `Tenant ${tenantId}, app ${clientId}${where}.`, remedy: "" };
  }
  return {
    subject,
    outcome: "problem",
    detail:
      "SharePoint is not configured: CRAWLER_TENANT_ID, CRAWLER_CLIENT_ID and CRAWLER_CLIENT_CERTIFICATE_PFX_FILE (or …_PEM_FILE) are not set.",
    remedy:
      "Register an app with a certificate in Microsoft Entra (an Application Administrator can) and put its ids and the certificate into the environment or .env; .env.example explains each.",
  };
}

const DAY_MS = 86_400_000;

function examineCertificate({ certificate }: SharePointSettings, now: Date): Finding {
  const subject = "Certificate";
  const own = new X509Certificate(certificate.certificatePem);
  const [from, to] = [own.validFromDate, own.validToDate];
  const dates = `valid from ${dayOf(from)} to ${dayOf(to)}`;
  // The portal shows the SHA-1; newer pages the SHA-256 too.
  const thumbprint = `thumbprint ${own.fingerprint.replaceAll(":", "")} (SHA-256 ${certificate.thumbprint})`;
  const detail = `${certificate.subject}, ${dates}, ${thumbprint}.`;
  const renew = "Create a new certificate and upload it to the app registration; an owner of the registration can.";
  if (now > to) return { subject, outcome: "problem", detail: `Expired: ${detail}`, remedy: renew };
  if (now < from) {
    const remedy = "Check the clock of this machine, or wait until the certificate is valid.";
    return { subject, outcome: "problem", detail: `Not valid yet: ${detail}`, remedy };
  }
  const soon = to.getTime() - now.getTime() < 30 * DAY_MS;
  return { subject, outcome: "ok", detail: soon ? `Expires soon: ${detail}` : detail, remedy: soon ? renew : "" };
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

const LEAST_FREE_BYTES = 500 * 1024 * 1024;

async function examineStorage(path: string): Promise<Finding> {
  const subject = `Storage ${path}`;
  const probe = join(path, `.doctor-${process.pid}`);
  const remedy = "Name a folder with space that lockstep may write to (PERSISTENT_STORAGE_PATH), or make room.";
  try {
    await writeFile(probe, "can it be written?");
    const { bavail, bsize } = await statfs(path);
    const detail = `It can be written to, and ${sayBytes(bavail * bsize)} are free.`;
    const enough = bavail * bsize >= LEAST_FREE_BYTES;
    return { subject, outcome: enough ? "ok" : "problem", detail, remedy: enough ? "" : remedy };
  } catch (error) {
    const reason = errorCode(error) || String(error);
    return { subject, outcome: "problem", detail: `It cannot be written to (${reason}).`, remedy };
  } finally {
    await rm(probe, { force: true }).catch(() => undefined);
  }
}

function sayBytes(bytes: number): string {
  const gigabytes = bytes / 1024 ** 3;
  return gigabytes >= 1 ? `${Math.floor(gigabytes)} GB` : `${Math.floor(bytes / 1024 ** 2)} MB`;
}
