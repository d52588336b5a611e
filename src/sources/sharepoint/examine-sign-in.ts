import { RemoteError } from "../../contracts/errors.ts";
import { fine, problem, type Step, unknown, type Verdict } from "./examine-steps.ts";
import type { CallContext } from "./rest-client.ts";
import type { SharePointConnection } from "./sharepoint-connection.ts";
import { SignInError } from "./sign-in.ts";
import { adviseOnSignIn } from "./sign-in-advice.ts";
import type { SiteAddress } from "./site-url.ts";
import { readTokenClaims } from "./token-claims.ts";

export interface Visitor {
  readonly connection: SharePointConnection;
  readonly site: SiteAddress;
  readonly call: CallContext;
}

/** Sign-in, clock and permission: the same for every source of a tenant. */
export function signInSteps(visitor: Visitor): Step[] {
  const { connection } = visitor;
  return [
    {
      subject: "Sign-in",
      look: () => judgeSignIn(visitor),
    },
    { subject: "Clock", independent: true, look: async () => judgeClock(connection.clockSkewMs()) },
    { subject: "Permission", look: () => judgePermission(visitor) },
  ];
}

async function judgeSignIn({ connection, site, call }: Visitor): Promise<Verdict> {
  const { tenantId, clientId } = connection.identity;
  try {
    await connection.signIn.token(site.origin, "", call);
    return fine(`Tenant ${tenantId} knows the app ${clientId} and its certificate.`);
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    const said = error.reason.replace(/ Trace ID: .*$/, "");
    return problem(
      `Tenant ${tenantId} does not let the app ${clientId} in: ${said}`,
      adviseOnSignIn(error.codes, error.reason) || UNREACHABLE,
    );
  }
}

const UNREACHABLE =
  "Check that this machine reaches the sign-in address (network, HTTPS_PROXY, NODE_EXTRA_CA_CERTS), and CRAWLER_TOKEN_ENDPOINT if it is set.";

/** Entra accepts a sign-in from five minutes early to ten minutes late. */
const MOST_SKEW_MS = 4 * 60_000;

function judgeClock(skewMs: number | undefined): Verdict {
  if (skewMs === undefined) return unknown("No answer told the time.");
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  // Dates in answers are whole seconds and were some time on their way.
  if (seconds <= 5) return fine("This machine agrees with Microsoft about the time.");
  const detail = `The clock of this machine is ${seconds} seconds ${skewMs > 0 ? "slow" : "fast"}.`;
  if (Math.abs(skewMs) < MOST_SKEW_MS) return fine(detail);
  return problem(detail, "Let the machine set its clock from the network (NTP); its administrator can.");
}

const READS_EVERYTHING = /^Sites\.(Read|ReadWrite|Manage|FullControl)\.All$/;
const READS_GRANTED = /^(Sites\.Selected|(Lists|ListItems|Files)\.SelectedOperations\.Selected)$/;

export function isGrantedBySite(roles: readonly string[]): boolean {
  return !roles.some((role) => READS_EVERYTHING.test(role)) && roles.some((role) => READS_GRANTED.test(role));
}

async function judgePermission(visitor: Visitor): Promise<Verdict> {
  const { connection, site, call } = visitor;
  const claims = readTokenClaims(await connection.signIn.token(site.origin, "", call));
  if (!claims) return unknown("The token does not tell which permissions the app has; the site will.");
  if (claims.proof === "1") {
    return problem(
      "The app signed in with a secret, which SharePoint refuses.",
      "Configure a certificate for the app.",
    );
  }
  const everything = claims.roles.find((role) => READS_EVERYTHING.test(role));
  if (everything) return fine(`The app may read every site (${everything}).`);
  const granted = claims.roles.find((role) => READS_GRANTED.test(role));
  if (granted) return fine(`The app may read what it was granted, site by site (${granted}).`);
  return problem(await describeLack(visitor, claims.roles), CONSENT);
}

const CONSENT =
  "In the app registration, under API permissions, add SharePoint (not Microsoft Graph) > Application permissions > Sites.Selected or Sites.Read.All, then 'Grant admin consent'; a Privileged Role Administrator or Global Administrator of the tenant can.";

async function describeLack(visitor: Visitor, roles: readonly string[]): Promise<string> {
  const onGraph = (await graphRoles(visitor)).filter((role) => role.startsWith("Sites."));
  if (onGraph.length > 0) {
    return `The app has ${onGraph.join(", ")} on Microsoft Graph only; SharePoint's own interface, which lockstep reads, does not count that.`;
  }
  if (roles.length === 0) return "The app has no permission on SharePoint that an administrator consented to.";
  return `None of the app's permissions on SharePoint lets it read sites: it has ${roles.join(", ")}.`;
}

/** Only to say more about a problem, so its own trouble does not matter. */
async function graphRoles({ connection, call }: Visitor): Promise<readonly string[]> {
  try {
    const token = await connection.signIn.token("https://graph.microsoft.com", "", call);
    return readTokenClaims(token)?.roles ?? [];
  } catch (error) {
    if (error instanceof RemoteError) return [];
    throw error;
  }
}
