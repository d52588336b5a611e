import { type ItemsQuery, isThresholdError } from "../read-items.ts";
import { SharePointError } from "../rest-client.ts";
import { fieldGroups, TOUCH_COUNT } from "./field-groups.ts";
import { joinRows } from "./join-rows.ts";
import { learnMails } from "./learn-texts.ts";
import type { FieldDescription } from "./list-codec.ts";
import type { Column } from "./list-columns.ts";

export interface RowsQuery {
  readonly query: Omit<ItemsQuery, "fields">;
  readonly fields: readonly FieldDescription[];
  readonly columns: readonly Column[];
  readonly attachments: boolean;
  /** By the ids of people; filled when rows do not tell. */
  readonly mails: Map<number, string>;
}

/**
 * The rows of a list, asked for in the best way the server bears. It refuses a whole page for one person without a mail
 * address, or for a lookup of an unusual type; then everything is asked again with more care, so rows may come twice.
 */
export async function* readRows(wanted: RowsQuery): AsyncGenerator<unknown[], void> {
  const { query, columns, attachments, mails } = wanted;
  const touchCount = wanted.fields.some((field) => field.internalName === TOUCH_COUNT);
  const ways = [
    { touchCount, cautious: false },
    { touchCount, cautious: true },
    { touchCount: false, cautious: true },
  ];
  for (const [at, way] of ways.entries()) {
    try {
      if (way.cautious) await learnMails(query, mails);
      yield* joinRows(query, fieldGroups(columns, { attachments, ...way }));
      return;
    } catch (error) {
      if (at === ways.length - 1 || !dislikesColumns(error)) throw error;
    }
  }
}

/** Also how SharePoint refuses a bad filter: it will say so again. */
function dislikesColumns(error: unknown): boolean {
  if (!(error instanceof SharePointError)) return false;
  const { status, code } = error;
  return !isThresholdError(error) && (status === 400 || (status === 500 && code === GENERAL_FAILURE));
}

const GENERAL_FAILURE = -2146232832;
