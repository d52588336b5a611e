import { isObject } from "../error-body.ts";
import type { ItemsQuery } from "../read-items.ts";
import { SharePointError } from "../rest-client.ts";
import { shownText, termNumber } from "./column-text.ts";
import { SHOWN_TEXTS, TERMS } from "./field-groups.ts";
import { listUrl } from "./find-list.ts";
import { decodeMails, text } from "./list-codec.ts";
import type { Column } from "./list-columns.ts";
import { listItemIdOf, type RawRow } from "./list-row.ts";

type Query = Omit<ItemsQuery, "fields">;

/** The mail addresses of everybody the site knows. An app that may not read them shows people by name alone. */
export async function learnMails({ rest, site, call }: Query, mails: Map<number, string>): Promise<void> {
  try {
    const answer = await rest.getJson(`${site.api}web/siteusers?$select=Id,Email`, call);
    for (const [id, mail] of decodeMails(answer)) mails.set(id, mail);
  } catch (error) {
    if (!(error instanceof SharePointError) || ![401, 403, 404].includes(error.status)) throw error;
  }
}

/** Learns the texts of the terms on these rows. The rows tell most of them; the rest is asked for, once a term. */
export async function learnTerms(
  rows: readonly RawRow[],
  columns: readonly Column[],
  terms: Map<number, string>,
  query: Query,
): Promise<void> {
  for (const row of rows) for (const [number, term] of termsTold(row)) terms.set(number, term);
  const single = columns.filter(({ type }) => type === "TaxonomyFieldType");
  for (const row of rows) {
    for (const { property, internalName } of single) {
      const number = termNumber(row[property]);
      if (number === undefined || terms.has(number)) continue;
      terms.set(number, await readShownText(query, listItemIdOf(row) ?? 0, internalName));
    }
  }
}

function termsTold(row: RawRow): [number, string][] {
  const value = row[TERMS];
  const told: unknown = isObject(value) ? value["results"] : value;
  if (!Array.isArray(told)) return [];
  return told.filter(isObject).flatMap((term): [number, string][] => {
    const number = term["ID"] ?? term["Id"];
    return typeof number === "number" && text(term["Term"]) ? [[number, text(term["Term"])]] : [];
  });
}

/** What SharePoint itself shows of the value; slow, but never at a loss. */
async function readShownText({ rest, site, listId, call }: Query, id: number, internalName: string): Promise<string> {
  return shownText(await rest.getJson(`${listUrl(site, listId)}/items(${id})/${SHOWN_TEXTS}`, call), internalName);
}
