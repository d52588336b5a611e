import { explain, RemoteError } from "../../contracts/errors.ts";
import type { Finding } from "../../contracts/finding.ts";
import { asSentence } from "../../lib/text.ts";
import { checkWeb, MissingListError } from "./find-library.ts";
import { decodePage } from "./library-codec.ts";
import { isThresholdError, itemsUrl } from "./read-items.ts";
import { type CallContext, SharePointError } from "./rest-client.ts";
import type { SharePointConnection } from "./sharepoint-connection.ts";
import { adviseOnSignIn, readTokenClaims, SignInError } from "./sign-in.ts";
import type { SiteAddress } from "./site-url.ts";

/** The library, list or pages that a source reads. */
interface DiagnosedList extends DiagnosisContext {
  /** `Library '/Shared Documents'` */
  readonly subject: string;
  /** OData, "" for none. */
  readonly filter: string;
  /** Throws RemoteError, with a suggestion where there is one, when it is not there. */
  find(call: CallContext): Promise<{ readonly listId: string; readonly title: string; readonly itemCount: number }>;
}

/** Checks sign-in, permission, site, list and filter, step by step. */
export async function* diagnoseSource(list: DiagnosedList): AsyncGenerator<Finding, void> {
  const { connection, site, call, subject, filter } = list;
  let listId = "";
  const steps: Step[] = [
    ...signInSteps(list),
    {
      subject: `Site ${site.text}`,
      async check() {
        await checkWeb(connection.rest, site, call);
        return ok("The app can read it.");
      },
      remedy: (error) => remedyForSite(error, list),
    },
    {
      subject,
      async check() {
        const found = await list.find(call);
        listId = found.listId;
        return describeSize(found);
      },
      remedy: () => "Correct it in the domain's sources; the site's owner knows what is there.",
    },
  ];
  if (filter) {
    const check = (): Promise<StepResult> => checkFilter(list, listId);
    const remedy = (): string => `Correct 'filter' in the domain's sources: an OData expression such as ${EXAMPLE}.`;
    steps.push({ subject: `Filter "${filter}"`, check, remedy });
  }
  yield* runSteps(steps);
}

const EXAMPLE = "Modified ge datetime'2024-01-01T00:00:00Z' and startswith(FileLeafRef,'Report')";
/** From here on SharePoint refuses filters on columns without an index. */
const THRESHOLD = 5000;

function describeSize({ title, itemCount }: { readonly title: string; readonly itemCount: number }): StepResult {
  const size = itemCount === 1 ? "1 item" : `${itemCount} items`;
  const large = itemCount > THRESHOLD ? `, more than the list view threshold of ${THRESHOLD}` : "";
  return ok(`'${title}' holds ${size}, folders included${large}.`);
}

const SAMPLE = 100;

async function checkFilter({ connection, site, filter, call }: DiagnosedList, listId: string): Promise<StepResult> {
  const query = { rest: connection.rest, site, listId, fields: "$select=Id", filter, pageSize: SAMPLE, call };
  try {
    const { rows, nextLink } = decodePage(await connection.rest.getJson(itemsUrl(query), call));
    if (rows.length === 0) return ok("It is valid, but nothing matches it now.");
    return ok(`It is valid and matches ${nextLink ? `at least ${rows.length}` : rows.length} rows.`);
  } catch (error) {
    if (!isThresholdError(error)) throw error;
    return ok(
      "SharePoint does not answer it in one go (list view threshold), so it is asked in windows of ids, which takes longer; an index on the column, which the site's owner can add, makes it quick.",
    );
  }
}

function remedyForSite(error: RemoteError, list: DiagnosedList): string {
  if (!(error instanceof SharePointError)) return "Check 'site_url', and that this machine reaches it.";
  if (error.status === 401 || error.status === 403) return remedyForRefusal(list);
  if (error.status === 404) return "Check 'site_url': there is no site, or it was deleted.";
  return "Check 'site_url'.";
}

/** Sites.Selected alone grants no site. An administrator has to do the rest, so the exact commands are given. */
function remedyForRefusal({ connection, site }: DiagnosedList): string {
  const roles = readTokenClaims(connection.signIn.cachedToken(site.origin))?.roles ?? [];
  if (roles.length > 0 && !isGrantedBySite(roles)) {
    return "The app's permission covers every site, so this one is closed in particular: ask a SharePoint administrator whether it is locked, archived, or behind a conditional access policy.";
  }
  const { clientId } = connection.identity;
  const { host } = new URL(site.origin);
  const address = site.path ? `${host}:${encodeURI(site.path)}` : host;
  const body = { roles: ["read"], grantedToIdentities: [{ application: { id: clientId, displayName: "lockstep" } }] };
  return [
    "A SharePoint Administrator or Global Administrator has to grant the app read access to this site. By Graph, with the 'id' that the first answers in place of {id} in the second:",
    `GET https://graph.microsoft.com/v1.0/sites/${address}`,
    `POST https://graph.microsoft.com/v1.0/sites/{id}/permissions ${JSON.stringify(body)}`,
    "Or by PnP PowerShell:",
    `Grant-PnPEntraIDAppSitePermission -AppId ${clientId} -DisplayName lockstep -Site ${site.text} -Permissions Read`,
  ].join("\n");
}

interface DiagnosisContext {
  readonly connection: SharePointConnection;
  readonly site: SiteAddress;
  readonly call: CallContext;
}

/** The steps that are the same for every source of a tenant. */
function signInSteps(context: DiagnosisContext): Step[] {
  const { connection } = context;
  return [
    {
      subject: "Sign-in",
      check: () => checkSignIn(context),
    },
    { subject: "Clock", independent: true, check: async () => checkClock(connection.clockSkewMs()) },
    { subject: "Permission", check: () => checkPermission(context) },
  ];
}

async function checkSignIn({ connection, site, call }: DiagnosisContext): Promise<StepResult> {
  const { tenantId, clientId } = connection.identity;
  try {
    await connection.signIn.token(site.origin, "", call);
    return ok(`Tenant ${tenantId} knows the app ${clientId} and its certificate.`);
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    const shortReason = error.reason.replace(/ Trace ID: .*$/, "");
    return problem(
      `Tenant ${tenantId} does not let the app ${clientId} in: ${shortReason}`,
      adviseOnSignIn(error.codes, error.reason) || UNREACHABLE,
    );
  }
}

const UNREACHABLE =
  "Check that this machine reaches the sign-in address (network, HTTPS_PROXY, NODE_EXTRA_CA_CERTS), and CRAWLER_TOKEN_ENDPOINT if it is set.";

/** Entra accepts a sign-in from five minutes early to ten minutes late. */
const MAX_SKEW_MS = 4 * 60_000;

function checkClock(skewMs: number | undefined): StepResult {
  if (skewMs === undefined) return notChecked("No response had a date.");
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  // Date headers have whole seconds and took some time to arrive.
  if (seconds <= 5) return ok("This machine agrees with Microsoft about the time.");
  const detail = `The clock of this machine is ${seconds} seconds ${skewMs > 0 ? "slow" : "fast"}.`;
  if (Math.abs(skewMs) < MAX_SKEW_MS) return ok(detail);
  return problem(detail, "Let the machine set its clock from the network (NTP); its administrator can.");
}

const READS_EVERYTHING = /^Sites\.(Read|ReadWrite|Manage|FullControl)\.All$/;
const READS_GRANTED = /^(Sites\.Selected|(Lists|ListItems|Files)\.SelectedOperations\.Selected)$/;

function isGrantedBySite(roles: readonly string[]): boolean {
  return !roles.some((role) => READS_EVERYTHING.test(role)) && roles.some((role) => READS_GRANTED.test(role));
}

async function checkPermission(context: DiagnosisContext): Promise<StepResult> {
  const { connection, site, call } = context;
  const claims = readTokenClaims(await connection.signIn.token(site.origin, "", call));
  if (!claims) return notChecked("The token does not tell which permissions the app has; the site will.");
  if (claims.proof === "1") {
    return problem(
      "The app signed in with a secret, which SharePoint refuses.",
      "Configure a certificate for the app.",
    );
  }
  const readAll = claims.roles.find((role) => READS_EVERYTHING.test(role));
  if (readAll) return ok(`The app may read every site (${readAll}).`);
  const readGranted = claims.roles.find((role) => READS_GRANTED.test(role));
  if (readGranted) return ok(`The app may read what it was granted, site by site (${readGranted}).`);
  return problem(await describeMissingPermission(context, claims.roles), CONSENT);
}

const CONSENT =
  "In the app registration, under API permissions, add SharePoint (not Microsoft Graph) > Application permissions > Sites.Selected or Sites.Read.All, then 'Grant admin consent'; a Privileged Role Administrator or Global Administrator of the tenant can.";

async function describeMissingPermission(context: DiagnosisContext, roles: readonly string[]): Promise<string> {
  const onGraph = (await graphRoles(context)).filter((role) => role.startsWith("Sites."));
  if (onGraph.length > 0) {
    return `The app has ${onGraph.join(", ")} on Microsoft Graph only; SharePoint's own interface, which lockstep reads, does not count that.`;
  }
  if (roles.length === 0) return "The app has no permission on SharePoint that an administrator consented to.";
  return `None of the app's permissions on SharePoint lets it read sites: it has ${roles.join(", ")}.`;
}

/** Only adds detail to a problem, so its own failure is ignored. */
async function graphRoles({ connection, call }: DiagnosisContext): Promise<readonly string[]> {
  try {
    const token = await connection.signIn.token("https://graph.microsoft.com", "", call);
    return readTokenClaims(token)?.roles ?? [];
  } catch (error) {
    if (error instanceof RemoteError) return [];
    throw error;
  }
}

type StepResult = Omit<Finding, "subject">;

/** One check. A RemoteError that `check` throws is reported as a problem. */
interface Step {
  readonly subject: string;
  /** Runs even when an earlier step failed, and does not stop later ones. */
  readonly independent?: boolean;
  check(): Promise<StepResult>;
  /** Returns what can be done about an error, or "". */
  remedy?(error: RemoteError): string;
}

function ok(detail: string): StepResult {
  return { outcome: "ok", detail, remedy: "" };
}

function problem(detail: string, remedy: string): StepResult {
  return { outcome: "problem", detail, remedy };
}

function notChecked(detail: string): StepResult {
  return { outcome: "not checked", detail, remedy: "" };
}

/** Yields one finding per step. After a problem, the other steps are "not checked". */
async function* runSteps(steps: readonly Step[]): AsyncGenerator<Finding, void> {
  let failed = "";
  for (const step of steps) {
    const { subject } = step;
    const skipped = failed && !step.independent;
    const result = skipped ? notChecked(`Not checked before this is solved: ${failed}.`) : await runStep(step);
    if (result.outcome === "problem" && !step.independent) failed ||= subject;
    yield { subject, ...result };
  }
}

async function runStep(step: Step): Promise<StepResult> {
  try {
    return await step.check();
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    const result = problem(asSentence(explain(error)), step.remedy?.(error) ?? "");
    return error instanceof MissingListError ? { ...result, alternatives: error.alternatives } : result;
  }
}

/** Returns the reason, with what a person can do about it where that is known. */
export function withAdvice(error: RemoteError, filter: string): string {
  const reason = error.message;
  if (isThresholdError(error)) {
    return filter
      ? `${reason}. There are too many rows for the filter "${filter}": filter by an indexed column, or leave 'filter' empty.`
      : `${reason}. Ask the site's owner about the list view threshold.`;
  }
  if (!(error instanceof SharePointError)) return reason;
  if (error.status === 400 && filter) return `${reason}. Check the filter "${filter}".`;
  if (error.status === 401)
    return `${reason}. The app needs a certificate and a permission on SharePoint, not on Graph; 'lockstep doctor' names the steps.`;
  if (error.status === 403)
    return `${reason}. Grant the app read access to this site (Sites.Selected or Sites.Read.All); 'lockstep doctor' names the steps.`;
  if (error.status === 404) return `${reason}. Check 'site_url'.`;
  if (error.status >= 300 && error.status < 400) return `${reason}. The site may have moved: check 'site_url'.`;
  return reason;
}
