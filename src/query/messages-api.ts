import { z } from 'zod';

/** Where and how to reach a model that speaks the Anthropic Messages API. */
export interface MessagesApi {
  /** Without a trailing slash, e.g. `https://api.anthropic.com`. */
  baseUrl: string;
  apiKey: string;
  model: string;
  timeoutMs: number;
  fetch?: typeof fetch;
}

const blockSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() }),
]);

const replySchema = z.object({
  /** Kinds of blocks that we did not ask for (thinking) are left out. */
  content: z.array(z.unknown()).transform((blocks) =>
    blocks.flatMap((block) => {
      const known = blockSchema.safeParse(block);
      return known.success ? [known.data] : [];
    }),
  ),
  stop_reason: z.string().nullish(),
  usage: z.object({ input_tokens: z.number().default(0), output_tokens: z.number().default(0) }),
});

export type Reply = z.infer<typeof replySchema>;
export type ReplyBlock = z.infer<typeof blockSchema>;

export interface ModelTool {
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
}

export interface Message {
  role: 'user' | 'assistant';
  content: string | (ReplyBlock | { type: 'tool_result'; tool_use_id: string; content: string; is_error?: boolean })[];
}

export interface MessageRequest {
  system: string;
  messages: readonly Message[];
  tools: readonly ModelTool[];
  /** Names the tool that must be called; without it the model decides. */
  mustCall?: string;
  maxTokens: number;
}

/** The model could not be asked or answered outside the protocol. The message holds no key and no content. */
export class ModelError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ModelError';
  }
}

export async function createMessage(api: MessagesApi, request: MessageRequest, signal: AbortSignal): Promise<Reply> {
  const send = api.fetch ?? fetch;
  const response = await send(`${api.baseUrl.replace(/\/+$/, '')}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': api.apiKey, 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({
      model: api.model,
      max_tokens: request.maxTokens,
      temperature: 0,
      system: request.system,
      messages: request.messages,
      tools: request.tools,
      ...(request.mustCall === undefined ? {} : { tool_choice: { type: 'tool', name: request.mustCall } }),
    }),
    signal,
    redirect: 'error',
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new ModelError(`the model API answered ${response.status}`);
  }
  const reply = replySchema.safeParse(await response.json());
  if (!reply.success) throw new ModelError('the model API answered outside its protocol', { cause: reply.error });
  return reply.data;
}
