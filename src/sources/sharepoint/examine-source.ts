import type { RemoteError } from "../../contracts/errors.ts";
import type { Finding } from "../../contracts/finding.ts";
import { isGrantedBySite, signInSteps, type Visitor } from "./examine-sign-in.ts";
import { fine, type Step, type Verdict, walkSteps } from "./examine-steps.ts";
import { checkWeb } from "./find-library.ts";
import { decodePage } from "./library-codec.ts";
import { isThresholdError, itemsUrl } from "./read-items.ts";
import { type CallContext, SharePointError } from "./rest-client.ts";
import { readTokenClaims } from "./token-claims.ts";

/** A library, a list, the pages of a site: what a source reads, and how it is found. */
export interface Examined extends Visitor {
  /** `Library '/Shared Documents'` */
  readonly subject: string;
  /** OData, "" for none. */
  readonly filter: string;
  /** Throws RemoteError, with a suggestion where there is one, when it is not there. */
  find(call: CallContext): Promise<{ readonly listId: string; readonly title: string; readonly itemCount: number }>;
}

/** Everything between the certificate and the first row, step by step. */
export async function* examineSource(examined: Examined): AsyncGenerator<Finding, void> {
  const { connection, site, call, subject, filter } = examined;
  let listId = "";
  const steps: Step[] = [
    ...signInSteps(examined),
    {
      subject: `Site ${site.text}`,
      async look() {
        await checkWeb(connection.rest, site, call);
        return fine("The app can read it.");
      },
      remedy: (error) => remedyForSite(error, examined),
    },
    {
      subject,
      async look() {
        const found = await examined.find(call);
        listId = found.listId;
        return describeSize(found);
      },
      remedy: () => "Correct it in the domain's sources; the site's owner knows what is there.",
    },
  ];
  if (filter) {
    const look = (): Promise<Verdict> => judgeFilter(examined, listId);
    const remedy = (): string => `Correct 'filter' in the domain's sources: an OData expression such as ${EXAMPLE}.`;
    steps.push({ subject: `Filter "${filter}"`, look, remedy });
  }
  yield* walkSteps(steps);
}

const EXAMPLE = "Modified ge datetime'2024-01-01T00:00:00Z' and startswith(FileLeafRef,'Report')";
/** From here on SharePoint refuses filters on columns without an index. */
const THRESHOLD = 5000;

function describeSize({ title, itemCount }: { readonly title: string; readonly itemCount: number }): Verdict {
  const size = itemCount === 1 ? "1 item" : `${itemCount} items`;
  const large = itemCount > THRESHOLD ? `, more than the list view threshold of ${THRESHOLD}` : "";
  return fine(`'${title}' holds ${size}, folders included${large}.`);
}

const SAMPLE = 100;

async function judgeFilter({ connection, site, filter, call }: Examined, listId: string): Promise<Verdict> {
  const query = { rest: connection.rest, site, listId, fields: "$select=Id", filter, pageSize: SAMPLE, call };
  try {
    const { rows, nextLink } = decodePage(await connection.rest.getJson(itemsUrl(query), call));
    if (rows.length === 0) return fine("It is valid, but nothing matches it now.");
    return fine(`It is valid and matches ${nextLink ? `at least ${rows.length}` : rows.length} rows.`);
  } catch (error) {
    if (!isThresholdError(error)) throw error;
    return fine(
      "SharePoint does not answer it in one go (list view threshold), so it is asked in windows of ids, which takes longer; an index on the column, which the site's owner can add, makes it quick.",
    );
  }
}

function remedyForSite(error: RemoteError, examined: Examined): string {
  if (!(error instanceof SharePointError)) return "Check 'site_url', and that this machine reaches it.";
  if (error.status === 401 || error.status === 403) return remedyForRefusal(examined);
  if (error.status === 404) return "Check 'site_url': there is no site, or it was deleted.";
  return "Check 'site_url'.";
}

/** Sites.Selected opens nothing by itself; the rest is an administrator's, so the very words are given. */
function remedyForRefusal({ connection, site }: Examined): string {
  const roles = readTokenClaims(connection.signIn.known(site.origin))?.roles ?? [];
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
