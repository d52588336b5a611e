import type { JsonObject } from "../../../lib/json-object.ts";
import type { Sql } from "../../../lib/sql/sql.ts";
import { type ListKey, type Page, type PageRequest, readPage } from "../catalog/read-page.ts";
import type { Item } from "./items.ts";

/** A response as it was sent, with everything somebody may later ask to have included, and the input it answers. */
export interface StoredResponse {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly previousId: string | null;
  readonly response: JsonObject & { readonly output: readonly Item[] };
  readonly input: readonly Item[];
}

interface ResponseRow extends Pick<StoredResponse, "id" | "createdAt" | "previousId"> {
  readonly response: string;
  readonly input: string;
}

const COLUMNS = 'id, created_at AS "createdAt", previous_id AS "previousId", response, input';
/** As long as OpenAI keeps them: whoever wants to go on later makes a conversation. */
const KEPT_SECONDS = 30 * 24 * 3600;
/** A chain is read as far back as anybody could mean. */
const MAX_CHAIN = 100;

export async function insertResponse(sql: Sql, stored: StoredResponse): Promise<void> {
  const { id, createdAt, previousId, response, input } = stored;
  await sql.run("DELETE FROM responses WHERE created_at < $1", [createdAt - KEPT_SECONDS]);
  await sql.run("INSERT INTO responses (id, created_at, previous_id, response, input) VALUES ($1, $2, $3, $4, $5)", [
    id,
    createdAt,
    previousId,
    JSON.stringify(response),
    JSON.stringify(input),
  ]);
}

export async function findResponse(sql: Sql, id: string): Promise<StoredResponse | undefined> {
  const row = await sql.get<ResponseRow>(`SELECT ${COLUMNS} FROM responses WHERE id = $1`, [id]);
  return row && toStored(row);
}

export async function listResponses(sql: Sql, request: PageRequest): Promise<Page<StoredResponse>> {
  const list = { columns: COLUMNS, from: "responses", createdAt: "created_at", seq: "seq" };
  const { rows, hasMore } = await readPage<ResponseRow>(sql, list, request);
  return { rows: rows.map(toStored), hasMore };
}

export async function keyOfResponse(sql: Sql, id: string): Promise<ListKey | undefined> {
  return sql.get<ListKey>('SELECT created_at AS "createdAt", seq FROM responses WHERE id = $1', [id]);
}

/** false: there was none. */
export async function deleteResponse(sql: Sql, id: string): Promise<boolean> {
  return (await sql.run("DELETE FROM responses WHERE id = $1", [id])) > 0;
}

/** Everything said up to and with this response, in order. A deleted one breaks the chain. */
export async function chainOf(sql: Sql, last: StoredResponse): Promise<Item[]> {
  const links = [last];
  let { previousId } = last;
  while (previousId !== null && links.length < MAX_CHAIN) {
    const link = await findResponse(sql, previousId);
    if (!link) break;
    links.unshift(link);
    previousId = link.previousId;
  }
  return links.flatMap(({ input, response }) => [...input, ...response.output]);
}

function toStored(row: ResponseRow): StoredResponse {
  return {
    ...row,
    response: JSON.parse(row.response) as StoredResponse["response"],
    input: JSON.parse(row.input) as Item[],
  };
}
