import type OpenAI from "openai";
import { mayAct, ownerOf, type Principal } from "../contracts/access.ts";
import { type Asking, askBackend, isMissing, unlessMissing } from "./ask-backend.ts";
import type { ModelResponse, Responses } from "./inventory.ts";
import type { ResponseNotes } from "./response-notes.ts";

export function createResponses(clientFor: (by: Principal) => OpenAI, notes: ResponseNotes): Responses {
  const about = (verb: string, id: string): Asking => ({
    what: `${verb} response '${id}'`,
    missing: `Response '${id}' does not exist.`,
  });
  return {
    async list(by) {
      const all = await notes.list();
      const own = mayAct(by, "admin") ? all : all.filter(({ owner }) => owner === ownerOf(by));
      return own.map(({ id, created_at, model }) => ({ id, created_at, model }));
    },
    async get(id, by) {
      try {
        return await askBackend(about("get", id), () => clientFor(by).responses.retrieve(id));
      } catch (error) {
        // Responses expire: one that the backend has forgotten does not stay in the list.
        const noted = isMissing(error) ? await notes.find(id) : undefined;
        if (noted && (mayAct(by, "admin") || noted.owner === ownerOf(by))) await notes.forget(id);
        throw error;
      }
    },
    create: (wanted, by) => askBackend({ what: "create the response" }, () => clientFor(by).responses.create(wanted)),
    async delete(response, mode, by) {
      const client = clientFor(by);
      const conversation = mode === "with_conversation" ? conversationOf(response) : undefined;
      if (conversation !== undefined) {
        const what = `delete conversation '${conversation}'`;
        await unlessMissing(() => askBackend({ what }, () => client.conversations.delete(conversation)));
      }
      await unlessMissing(() => askBackend(about("delete", response.id), () => client.responses.delete(response.id)));
      await notes.forget(response.id);
    },
  };
}

/** The id of the conversation that the backend keeps for it, if any. */
export function conversationOf({ conversation }: ModelResponse): string | undefined {
  return conversation?.id;
}
