/** What can be turned while the sandbox runs. */
export interface SandboxSettings {
  /** Whether `$value` honours Range: undocumented for the real one, so a client must live with both. */
  rangeRequests: "honoured" | "ignored";
  tokenLifetimeSeconds: number;
  /** The application permissions the app was granted on SharePoint. */
  roles: readonly string[];
}

export const DEFAULT_SETTINGS: SandboxSettings = {
  rangeRequests: "honoured",
  tokenLifetimeSeconds: 3599,
  roles: ["Sites.Read.All"],
};
