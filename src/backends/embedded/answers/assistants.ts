import type { JsonObject } from "../../../lib/json-object.ts";
import type { Sql } from "../../../lib/sql/sql.ts";

export interface AssistantRow {
  readonly id: string;
  readonly seq: number;
  /** Unix seconds. */
  readonly createdAt: number;
  /** JSON: the settings of the assistant as the wire protocol spells them. */
  readonly assistant: string;
}

export const ASSISTANT_COLUMNS = 'id, seq, created_at AS "createdAt", assistant';

export async function insertAssistant(sql: Sql, id: string, createdAt: number, settings: JsonObject): Promise<void> {
  const values = [id, createdAt, JSON.stringify(settings)];
  await sql.run("INSERT INTO assistants (id, created_at, assistant) VALUES ($1, $2, $3)", values);
}

export async function findAssistant(sql: Sql, id: string): Promise<AssistantRow | undefined> {
  return sql.get<AssistantRow>(`SELECT ${ASSISTANT_COLUMNS} FROM assistants WHERE id = $1`, [id]);
}

export async function updateAssistant(sql: Sql, id: string, settings: JsonObject): Promise<void> {
  await sql.run("UPDATE assistants SET assistant = $1 WHERE id = $2", [JSON.stringify(settings), id]);
}

export async function deleteAssistant(sql: Sql, id: string): Promise<void> {
  await sql.run("DELETE FROM assistants WHERE id = $1", [id]);
}
