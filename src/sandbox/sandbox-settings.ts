/** What can be turned while the sandbox runs. */
export interface SandboxSettings {
  /** Whether `$value` honours Range: undocumented for the real one, so a client must live with both. */
  rangeRequests: "honoured" | "ignored";
  tokenLifetimeSeconds: number;
  /** The application permissions the app was granted on SharePoint. */
  roles: readonly string[];
  /** And on Graph: a resource of its own, whose permissions open nothing in SharePoint's REST. */
  graphRoles: readonly string[];
  /** How a missing permission is answered by REST, which has been seen to use either. */
  missingPermissionStatus: 401 | 403;
  /** Every sign-in fails with this AADSTS code; 0 for none. */
  signInError: number;
  /** Whether the app sees drafts (level 2), or the last published version in their place. */
  drafts: "visible" | "hidden";
  /** 5000 in the real one; smaller, so that a test needs no long list. */
  listViewThreshold: number;
}

export const DEFAULT_SETTINGS: SandboxSettings = {
  rangeRequests: "honoured",
  tokenLifetimeSeconds: 3599,
  roles: ["Sites.Read.All"],
  graphRoles: ["Sites.Read.All"],
  missingPermissionStatus: 403,
  signInError: 0,
  drafts: "visible",
  listViewThreshold: 5000,
};
