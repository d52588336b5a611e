/** What an administrator may grant an app on one site. Each of them includes reading. */
export const SITE_ROLES = ["read", "write", "owner", "fullcontrol"] as const;
export type SiteRole = (typeof SITE_ROLES)[number];

const READ_EVERY_SITE = ["Sites.Read.All", "Sites.ReadWrite.All", "Sites.Manage.All", "Sites.FullControl.All"];
const READ_GRANTED_SITES = "Sites.Selected";

/**
 * What the app may see. The permission in the token is what was consented to; with `Sites.Selected` that alone opens
 * nothing, and every site needs a grant of its own, which counts from the moment it is given.
 */
export class AppAccess {
  #grants = new Map<string, { site: string; role: SiteRole }>();
  /** Whether the certificate of the registration counts as expired. */
  certificateExpired = false;

  /** `sitePath` is server-relative, "" for the root site; compared without case. */
  grant(sitePath: string, role: SiteRole): void {
    this.#grants.set(sitePath.toLowerCase(), { site: sitePath || "/", role });
  }

  /** false when there was nothing to revoke. */
  revoke(sitePath: string): boolean {
    return this.#grants.delete(sitePath.toLowerCase());
  }

  grants(): { site: string; role: SiteRole }[] {
    return [...this.#grants.values()];
  }

  mayRead(sitePath: string, roles: readonly string[]): boolean {
    if (roles.some((role) => READ_EVERY_SITE.includes(role))) return true;
    return roles.includes(READ_GRANTED_SITES) && this.#grants.has(sitePath.toLowerCase());
  }

  reset(): void {
    this.#grants.clear();
    this.certificateExpired = false;
  }
}
