import type { RemoteError } from "../../contracts/errors.ts";
import { isThresholdError } from "./read-items.ts";
import { SharePointError } from "./rest-client.ts";

/** The reason, and what a person can do about it where we know. */
export function adviseOn(error: RemoteError, filter: string): string {
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
