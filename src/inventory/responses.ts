import type OpenAI from "openai";
import { askerOf, maySee, type Principal } from "../contracts/access.ts";
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
      const own = (await notes.list()).filter(({ owner }) => maySee(askerOf(by), owner));
      return own.map(({ id, created_at, model }) => ({ id, created_at, model }));
    },
    async get(id, by) {
      try {
        return await askBackend(about("get", id), () => clientFor(by).responses.retrieve(id));
      } catch (error) {
        // Responses expire: one that the backend has forgotten does not stay in the list.
        const noted = isMissing(error) ? await notes.find(id) : undefined;
        if (noted && maySee(askerOf(by), noted.owner)) await notes.forget(id);
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
