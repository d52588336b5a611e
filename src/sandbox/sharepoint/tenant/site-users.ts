/** A person the site knows, under an id that means nothing in other sites. */
export interface SiteUser {
  readonly id: number;
  readonly title: string;
  readonly email: string;
  readonly loginName: string;
}

export const DEFAULT_USER_ID = 11;
export const SYSTEM_USER_ID = 1073741823;
const MAIL_HOST = "tidewheel.example";

/** The users of one site. Whoever is named and not known yet is let in, as when something is assigned to them. */
export class SiteUsers {
  readonly #users = new Map<number, SiteUser>();
  #nextId = DEFAULT_USER_ID;

  constructor() {
    this.#add("Mila Petrovic");
    this.#users.set(SYSTEM_USER_ID, {
      id: SYSTEM_USER_ID,
      title: "System Account",
      email: "",
      loginName: "SHAREPOINT\\system",
    });
  }

  all(): SiteUser[] {
    return [...this.#users.values()];
  }

  find(id: number): SiteUser | undefined {
    return this.#users.get(id);
  }

  /** By name or mail address, without regard to case. */
  ensure(nameOrMail: string): SiteUser {
    const wanted = nameOrMail.toLowerCase();
    const known = this.all().find((user) => [user.title, user.email].some((text) => text.toLowerCase() === wanted));
    return known ?? this.#add(nameOrMail);
  }

  #add(nameOrMail: string): SiteUser {
    const isMail = nameOrMail.includes("@");
    const email = isMail ? nameOrMail : `${mailboxOf(nameOrMail)}@${MAIL_HOST}`;
    const title = isMail ? nameOrMail.slice(0, nameOrMail.indexOf("@")) : nameOrMail;
    const user = { id: this.#nextId++, title, email, loginName: `i:0#.f|membership|${email}` };
    this.#users.set(user.id, user);
    return user;
  }
}

/** `Anneke de Vries` -> `anneke.de.vries` */
function mailboxOf(name: string): string {
  return name
    .normalize("NFKD")
    .replaceAll(/[^A-Za-z0-9]+/g, " ")
    .trim()
    .replaceAll(" ", ".")
    .toLowerCase();
}
