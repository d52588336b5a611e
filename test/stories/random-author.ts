import { DOMAIN } from "../engine/world.ts";
import { parseDomain } from "../kinds.ts";
import { assertDocuments, type Documents } from "./documents.ts";
import type { Random } from "./random.ts";
import { sourceView } from "./source-view.ts";
import type { Stage } from "./stage.ts";

const LIST = "/sites/demo/Lists/Tasks";
const PAGES = "/sites/demo/SitePages";

/** Plays people who keep a list and write pages, by chance, and knows what both say to readers. */
export class RandomAuthor {
  readonly #stage: Stage;
  readonly #random: Random;
  /** By unique id: the word of a row, of its attachment, of a page as published, of a page's draft. */
  readonly #rows = new Map<string, { readonly id: number; word: string; attachment: string }>();
  readonly #pages = new Map<string, { path: string; published: string; draft: string }>();
  #words = 0;

  private constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
  }

  /** Adds the list and the pages to the domain. */
  static async join(stage: Stage, random: Random): Promise<RandomAuthor> {
    const { world } = stage;
    await world.control("POST", "add-list", { path: LIST, title: "Tasks", columns: [{ name: "Status" }] });
    const site = { site_url: world.sandbox.siteUrl, filter: "", allow_empty: true };
    const json = {
      ...world.domainJson(),
      list_sources: [{ source_id: "tasks", list_name: "Tasks", ...site }],
      sitepage_sources: [{ source_id: "pages", sharepoint_url_part: "/SitePages", ...site }],
    };
    await world.app.domains.update(parseDomain(json, DOMAIN), await world.app.domains.get(DOMAIN));
    return new RandomAuthor(stage, random);
  }

  async act(): Promise<string> {
    const deeds = [
      () => this.#addRow(),
      () => this.#addRow(),
      () => this.#editRow(),
      () => this.#toggleRow(),
      () => this.#attach(),
      () => this.#addPage(),
      () => this.#editPage(),
      () => this.#movePage(),
      () => this.#togglePage(),
    ];
    return (await this.#random.pick(deeds)?.()) ?? "the author has nothing to do";
  }

  async assertInStep(): Promise<void> {
    const { world } = this.#stage;
    await assertDocuments(this.#stage, sourceView(world, "list_sources", "tasks", LIST), this.#rowDocuments());
    await assertDocuments(this.#stage, sourceView(world, "sitepage_sources", "pages", PAGES), this.#pageDocuments());
  }

  #rowDocuments(): Documents {
    const documents: Record<string, string> = {};
    for (const [uniqueId, { id, word, attachment }] of this.#rows) {
      if (!this.#isThere(uniqueId)) continue;
      documents[`${id}.md`] = word;
      if (attachment) documents[`attachments/${id}/note.txt`] = attachment;
    }
    return documents;
  }

  #pageDocuments(): Documents {
    const documents: Record<string, string> = {};
    for (const [uniqueId, { path, published }] of this.#pages)
      if (published && this.#isThere(uniqueId)) documents[`${path}.html`] = published;
    return documents;
  }

  #isThere(uniqueId: string): boolean {
    return this.#stage.world.sandbox.tenant.itemsByUniqueId.has(uniqueId);
  }

  #word(): string {
    return `term${this.#random.below(1_000_000)}y${++this.#words}`;
  }

  async #do(operation: string, fields: Record<string, unknown>): Promise<Record<string, unknown>> {
    return await this.#stage.change(operation, fields);
  }

  async #addRow(): Promise<string> {
    const word = this.#word();
    const { uniqueId, listItemId } = await this.#do("add-item", { list: LIST, values: { Title: `Do ${word}` } });
    this.#rows.set(String(uniqueId), { id: Number(listItemId), word, attachment: "" });
    return `add row ${listItemId}`;
  }

  async #editRow(): Promise<string | undefined> {
    const row = this.#random.pick([...this.#rows].filter(([uniqueId]) => this.#isThere(uniqueId)))?.[1];
    if (!row) return undefined;
    row.word = this.#word();
    await this.#do("update-item", { list: LIST, id: row.id, values: { Title: `Do ${row.word}` } });
    return `edit row ${row.id}`;
  }

  async #toggleRow(): Promise<string | undefined> {
    const [uniqueId, row] = this.#random.pick([...this.#rows]) ?? [];
    if (!uniqueId || !row) return undefined;
    const operation = this.#isThere(uniqueId) ? "delete-item" : "restore-item";
    await this.#do(operation, { list: LIST, id: row.id });
    return `${operation} ${row.id}`;
  }

  async #attach(): Promise<string | undefined> {
    const row = this.#random.pick([...this.#rows].filter(([uniqueId]) => this.#isThere(uniqueId)))?.[1];
    if (!row) return undefined;
    const file = { list: LIST, id: row.id, name: "note.txt" };
    const isThere = row.attachment !== "";
    row.attachment = isThere ? "" : this.#word();
    await this.#do(isThere ? "remove-attachment" : "add-attachment", {
      ...file,
      ...(!isThere && { text: `Attached ${row.attachment}.` }),
    });
    return `${isThere ? "remove" : "add"} attachment of row ${row.id}`;
  }

  async #addPage(): Promise<string> {
    const [word, published] = [this.#word(), this.#random.chance(0.7)];
    const path = `${this.#random.chance(0.5) ? "Teams/" : ""}Page${++this.#words}.aspx`;
    const page = { path: `${PAGES}/${path}`, title: "A page", text: `<p>About ${word}.</p>`, published };
    const { uniqueId } = await this.#do("add-page", page);
    this.#pages.set(String(uniqueId), { path, published: published ? word : "", draft: word });
    return `add page ${path}${published ? "" : ", a draft"}`;
  }

  async #editPage(): Promise<string | undefined> {
    const page = this.#livingPage();
    if (!page) return undefined;
    const path = `${PAGES}/${page.path}`;
    page.draft = this.#word();
    await this.#do("edit-page", { path, text: `<p>About ${page.draft}.</p>` });
    if (!this.#random.chance(0.7)) return `edit page ${page.path}, a draft`;
    await this.#do("publish-page", { path });
    page.published = page.draft;
    return `edit page ${page.path}`;
  }

  async #movePage(): Promise<string | undefined> {
    const page = this.#livingPage();
    if (!page) return undefined;
    const to = `${this.#random.chance(0.5) ? "Crews/" : ""}Moved${++this.#words}.aspx`;
    await this.#do("move", { path: `${PAGES}/${page.path}`, to: `${PAGES}/${to}` });
    const told = `move page ${page.path} to ${to}`;
    page.path = to;
    return told;
  }

  async #togglePage(): Promise<string | undefined> {
    const [uniqueId, page] = this.#random.pick([...this.#pages]) ?? [];
    if (!uniqueId || !page) return undefined;
    if (this.#isThere(uniqueId)) await this.#do("delete", { path: `${PAGES}/${page.path}` });
    else await this.#do("restore", { uniqueId });
    return `delete or restore page ${page.path}`;
  }

  #livingPage() {
    return this.#random.pick([...this.#pages].filter(([uniqueId]) => this.#isThere(uniqueId)))?.[1];
  }
}
