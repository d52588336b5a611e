import type OpenAI from "openai";
import { type Asking, askBackend, isMissing, unlessMissing } from "./ask-backend.ts";
import type { ModelResponse, Responses } from "./inventory.ts";
import { createResponseNotes } from "./response-notes.ts";

export function createResponses(client: OpenAI, folder: string): Responses {
  const notes = createResponseNotes(folder);
  const about = (verb: string, id: string): Asking => ({
    what: `${verb} response '${id}'`,
    missing: `Response '${id}' does not exist.`,
  });
  return {
    list: () => notes.list(),
    async get(id) {
      try {
        return await askBackend(about("get", id), () => client.responses.retrieve(id));
      } catch (error) {
        // Responses expire: one that the backend has forgotten does not stay in the list.
        if (isMissing(error) && (await notes.list()).some((noted) => noted.id === id)) await notes.forget(id);
        throw error;
      }
    },
    async create(wanted) {
      const response = await askBackend({ what: "create the response" }, () => client.responses.create(wanted));
      if (wanted.store !== false) await notes.note(response);
      return response;
    },
    async delete(response, mode) {
      const conversation = mode === "with_conversation" ? conversationOf(response) : undefined;
      if (conversation !== undefined) {
        const what = `delete conversation '${conversation}'`;
        await unlessMissing(() => askBackend({ what }, () => client.conversations.delete(conversation)));
      }
      await unlessMissing(() => askBackend(about("delete", response.id), () => client.responses.delete(response.id)));
      await notes.forget(response.id);
    },
    note: (response) => notes.note(response),
    forget: (id) => notes.forget(id),
    settled: () => notes.settled(),
  };
}

/** The id of the conversation that the backend keeps for it, if any. */
export function conversationOf({ conversation }: ModelResponse): string | undefined {
  return conversation?.id;
}
