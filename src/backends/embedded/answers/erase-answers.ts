import type { Quotes } from "../../../contracts/backend.ts";
import { isListed, listOf, type SqlDatabase } from "../../../lib/sql/sql.ts";

const ROWS_AT_ONCE = 200;

interface StoredItem {
  readonly seq: number;
  readonly conversationId: string;
  readonly item: string;
}

/**
 * Deletes stored responses that quote a document, and from conversations the whole turns that do: the question, the search and the
 * answer. Returns how many rows. Looks at all of them, a page at a time.
 */
export async function eraseAnswers(
  db: SqlDatabase,
  quotes: Quotes,
  { dryRun }: { readonly dryRun: boolean },
): Promise<number> {
  let erased = 0;
  for await (const seqs of quotingResponses(db, quotes)) {
    erased += seqs.length;
    if (dryRun) continue;
    await db.run(`DELETE FROM responses WHERE ${isListed(db, "seq", "$1", "integer")}`, [listOf(seqs)]);
  }
  for await (const items of quotingTurns(db, quotes)) {
    erased += items.length;
    if (!dryRun) await deleteItems(db, items);
  }
  return erased;
}

async function* quotingResponses(db: SqlDatabase, quotes: Quotes): AsyncGenerator<readonly number[]> {
  for (let after = 0; ; ) {
    const rows = await db.all<{ seq: number; response: string; input: string }>(
      `SELECT seq, response, input FROM responses WHERE seq > $1 ORDER BY seq LIMIT ${ROWS_AT_ONCE}`,
      [after],
    );
    const found = rows.filter(({ response, input }) => isQuoting(response, quotes) || isQuoting(input, quotes));
    if (found.length > 0) yield found.map(({ seq }) => Number(seq));
    if (rows.length < ROWS_AT_ONCE) return;
    after = Number(rows.at(-1)?.seq);
  }
}

/** A turn begins with a message of the user that follows something else. */
async function* quotingTurns(db: SqlDatabase, quotes: Quotes): AsyncGenerator<readonly StoredItem[]> {
  let turn: StoredItem[] = [];
  let isQuoted = false;
  let wasUser = false;
  for await (const row of storedItems(db)) {
    const isUser = isOfUser(row.item);
    const isOther = turn[0] !== undefined && turn[0].conversationId !== row.conversationId;
    if (isOther || (isUser && !wasUser)) {
      if (isQuoted) yield turn;
      [turn, isQuoted] = [[], false];
    }
    turn.push(row);
    isQuoted ||= isQuoting(row.item, quotes);
    wasUser = isUser;
  }
  if (isQuoted) yield turn;
}

async function* storedItems(db: SqlDatabase): AsyncGenerator<StoredItem> {
  const text = `SELECT seq, conversation_id AS "conversationId", item FROM conversation_items
    WHERE conversation_id > $1 OR (conversation_id = $1 AND seq > $2)
    ORDER BY conversation_id, seq LIMIT ${ROWS_AT_ONCE}`;
  for (let [conversation, after] = ["", 0]; ; ) {
    const rows = await db.all<StoredItem>(text, [conversation, after]);
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_AT_ONCE) return;
    [conversation, after] = [last.conversationId, Number(last.seq)];
  }
}

async function deleteItems(db: SqlDatabase, items: readonly StoredItem[]): Promise<void> {
  const [first] = items;
  if (!first) return;
  const bytes = items.reduce((sum, { item }) => sum + item.length, 0);
  await db.write(async (sql) => {
    const listed = isListed(sql, "seq", "$1", "integer");
    await sql.run(`DELETE FROM conversation_items WHERE ${listed}`, [listOf(items.map(({ seq }) => Number(seq)))]);
    await sql.run("UPDATE conversations SET bytes = bytes - $2 WHERE id = $1", [first.conversationId, bytes]);
  });
}

function isOfUser(json: string): boolean {
  const item = parsed(json);
  return typeof item === "object" && item !== null && "role" in item && item.role === "user";
}

function isQuoting(json: string, quotes: Quotes): boolean {
  for (const text of textsIn(parsed(json))) if (quotes.isIn(text)) return true;
  return false;
}

/** A row that is no JSON counts as one text. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const one of value) yield* textsIn(one);
  else if (typeof value === "object" && value !== null) for (const one of Object.values(value)) yield* textsIn(one);
}
