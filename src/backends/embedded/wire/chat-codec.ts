import { estimateTokens } from "../../../index/estimate-tokens.ts";
import type { FinishReason } from "../answers/answerer.ts";

/** What all chunks of a completion have in common. */
export interface ChatMade {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

export function chunk(made: ChatMade, delta: object, finish: FinishReason | null = null): string {
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: finish }];
  return encodeChatEvent({ ...made, object: "chat.completion.chunk", choices });
}

export const DONE = "data: [DONE]\n\n";

/** Events of chats have no name. JSON contains no line feeds. */
export function encodeChatEvent(event: object): string {
  return `data: ${JSON.stringify(event)}\n\n`;
}

export function toChatUsage(question: string, answer: string): object {
  const [prompt, completion] = [Math.ceil(estimateTokens(question)), Math.ceil(estimateTokens(answer))];
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
