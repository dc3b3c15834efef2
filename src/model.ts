/** Client of the Anthropic API, shared by classification, reranking, planning and the context agent. */
import type Anthropic from '@anthropic-ai/sdk';
import { z } from 'zod';
import type { Config } from './config/config.ts';
import { AppError } from './errors.ts';

/** A prompt whose answer must match a schema. */
export interface Form {
  name: string;
  description: string;
  /** JSON Schema of the answer. */
  schema: Record<string, unknown>;
  system: string;
  prompt: string;
  maxTokens: number;
}

/** Answers a form; the result is untrusted and may have any shape. Rejects with a `ModelError`. */
export interface FormFiller {
  fillForm(form: Form, signal: AbortSignal): Promise<unknown>;
}

interface MessageRequest {
  system: string;
  messages: Anthropic.MessageParam[];
  tools: Anthropic.Tool[];
  /** Names the tool that must be called; without it the model decides. */
  mustCall?: string;
  maxTokens: number;
}

export interface Model extends FormFiller {
  readonly name: string;
  createMessage(request: MessageRequest, signal: AbortSignal): Promise<ModelReply>;
}

/** The model is unreachable or sent an invalid response. The message contains neither the key nor any content. */
export class ModelError extends AppError {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super('MODEL_UNAVAILABLE', message, options);
  }
}

const blockSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('tool_use'), id: z.string(), name: z.string(), input: z.unknown() }),
]);

const replySchema = z.object({
  /** Other kinds of blocks (thinking) are ignored. */
  content: z.array(z.unknown()).transform((blocks) =>
    blocks.flatMap((block) => {
      const known = blockSchema.safeParse(block);
      return known.success ? [known.data] : [];
    }),
  ),
  usage: z
    .object({ input_tokens: z.number().default(0), output_tokens: z.number().default(0) })
    .default({ input_tokens: 0, output_tokens: 0 }),
});

type ModelReply = z.infer<typeof replySchema>;
export type ReplyBlock = z.infer<typeof blockSchema>;

interface ModelOptions {
  apiKey: string;
  baseUrl: string;
  name: string;
}

export function createModel({ apiKey, baseUrl, name }: ModelOptions): Model {
  /** Loaded by the first request: the SDK takes 24 MB of memory. */
  let client: Promise<Anthropic> | undefined;

  async function connect(): Promise<Anthropic> {
    const { default: Client } = await import('@anthropic-ai/sdk');
    return new Client({ apiKey, baseURL: baseUrl, maxRetries: 1, fetchOptions: { redirect: 'error' } });
  }

  async function createMessage(request: MessageRequest, signal: AbortSignal): Promise<ModelReply> {
    const { system, messages, tools, mustCall, maxTokens } = request;
    client ??= connect();
    const { messages: api } = await client;
    const answer: unknown = await api
      .create(
        {
          model: name,
          max_tokens: maxTokens,
          system,
          messages,
          tools,
          ...(mustCall === undefined ? {} : { tool_choice: { type: 'tool' as const, name: mustCall } }),
        },
        { signal },
      )
      .catch((error: unknown) => {
        throw toModelError(error);
      });
    const reply = replySchema.safeParse(answer);
    if (!reply.success) throw new ModelError('the model API sent an invalid response', { cause: reply.error });
    return reply.data;
  }

  async function fillForm(form: Form, signal: AbortSignal): Promise<unknown> {
    const { system, prompt, maxTokens } = form;
    const tools = [{ name: form.name, description: form.description, input_schema: toInputSchema(form.schema) }];
    const messages = [{ role: 'user' as const, content: prompt }];
    const { content } = await createMessage({ system, messages, tools, mustCall: form.name, maxTokens }, signal);
    const filled = content.find((block) => block.type === 'tool_use' && block.name === form.name);
    return filled?.type === 'tool_use' ? filled.input : undefined;
  }

  return { name, createMessage, fillForm };
}

/** Undefined where no key is configured. */
export function createConfiguredModel({ anthropicApiKey, anthropicBaseUrl, model }: Config): Model | undefined {
  return anthropicApiKey === undefined
    ? undefined
    : createModel({ apiKey: anthropicApiKey, baseUrl: anthropicBaseUrl, name: model });
}

export function toInputSchema(schema: Record<string, unknown>): Anthropic.Tool.InputSchema {
  return { ...schema, type: 'object' };
}

/** Replaces the SDK's messages, which quote the response. */
function toModelError(error: unknown): ModelError {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  if (typeof status === 'number') return new ModelError(`the model API answered ${status}`);
  return new ModelError('the model API could not be reached', { cause: error });
}
