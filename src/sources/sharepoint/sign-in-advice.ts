/** What is missing when Entra refuses a sign-in, by its AADSTS code, and who can do something about it. */
const ADVICE: Readonly<Record<number, string>> = {
  700027:
    "Upload this certificate to the app registration (Certificates & secrets), or configure the one that is registered there; an owner of the registration can.",
  50027: "Check the certificate: its private key does not sign as the app registration expects.",
  700021: "Check CRAWLER_CLIENT_ID: the sign-in was made out for another app.",
  700023: "Check CRAWLER_TENANT_ID and CRAWLER_TOKEN_ENDPOINT: they belong to different tenants.",
  700016:
    "Check CRAWLER_CLIENT_ID and CRAWLER_TENANT_ID; if both are right, an administrator of that tenant has to consent to the app first.",
  90002: "Check CRAWLER_TENANT_ID: the tenant's id or domain, from the overview of the app registration.",
  700024: "Check the clock of this machine: the sign-in is valid for a few minutes only.",
  500011:
    "Check the host name in 'site_url'; if it is right, the tenant has no SharePoint under that name, or CRAWLER_TENANT_ID is another tenant's.",
  1002012: "Check 'site_url': the address of the site has to begin with the tenant's own host.",
  7000215:
    "Use a certificate: SharePoint accepts no client secret, so lockstep never sends one; check CRAWLER_TOKEN_ENDPOINT.",
  7000218: "Use a certificate: set CRAWLER_CLIENT_CERTIFICATE_PFX_FILE or CRAWLER_CLIENT_CERTIFICATE_PEM_FILE.",
  7000222: "Renew the credential of the app registration, as a certificate; an owner of the registration can.",
  90033: "Wait and try again: the sign-in service has a passing fault.",
  90055: "Wait and try again: the tenant's sign-ins are being throttled.",
  53003: "Ask an Entra administrator: a conditional access policy keeps this app out.",
  7000112: "Ask an Entra administrator to enable the app: it is disabled in the tenant.",
};

const EXPIRED =
  "The certificate has expired: make a new one, upload it to the app registration (Certificates & secrets), and configure it here; an owner of the registration can.";

/** "" where nothing is known about any of the codes. */
export function adviseOnSignIn(codes: readonly number[], reason: string): string {
  if (codes.includes(700027) && /\bexpired\b/i.test(reason)) return EXPIRED;
  return codes.map((code) => ADVICE[code]).find((text) => text !== undefined) ?? "";
}
