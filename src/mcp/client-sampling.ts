/** The client's own model, through `sampling/createMessage`: legacy clients are asked, modern ones by the answer itself. */
import { isObject, type JsonObject } from '../json-rpc.ts';
import { type Form, type FormFiller, ModelError } from '../model.ts';
import type { McpCall } from './peer.ts';

/** Thrown towards the handler of a modern client's call, which answers `input_required` with it. */
export class SamplingRequired extends Error {
  readonly inputRequests: JsonObject;

  constructor(key: string, params: JsonObject) {
    super('the client must be asked');
    this.inputRequests = { [key]: { method: 'sampling/createMessage', params } };
  }
}

/** Undefined where the client offers no sampling. */
export function createClientSampling({ caller, params, ask }: McpCall): FormFiller | undefined {
  if (caller.client.capabilities.sampling === undefined) return undefined;
  if (caller.era === 'modern') return { fillForm: async (form) => fillFromRetry(form, params.inputResponses) };
  if (ask === undefined) return undefined;
  return {
    async fillForm(form, signal) {
      try {
        return readForm(await ask('sampling/createMessage', toSamplingParams(form), signal));
      } catch (error) {
        throw error instanceof ModelError
          ? error
          : new ModelError("the client's model was not available", { cause: error });
      }
    },
  };
}

/** The answer comes with the retry; nothing was called before, so the retry needs no state. */
function fillFromRetry(form: Form, responses: unknown): unknown {
  const answer = isObject(responses) ? responses[form.name] : undefined;
  if (!isObject(answer)) throw new SamplingRequired(form.name, toSamplingParams(form));
  return readForm(answer);
}

function toSamplingParams({ system, prompt, schema, maxTokens }: Form): JsonObject {
  const shape = `Answer with one JSON object and nothing else. Its JSON Schema: ${JSON.stringify(schema)}`;
  return {
    systemPrompt: system,
    messages: [{ role: 'user', content: { type: 'text', text: `${prompt}\n\n${shape}` } }],
    maxTokens,
    temperature: 0,
  };
}

/** The first JSON object in the answer; models like to put it into a code fence. */
function readForm({ content }: JsonObject): unknown {
  const blocks: unknown[] = Array.isArray(content) ? content : [content];
  const text = blocks
    .flatMap((block) => (isObject(block) && typeof block.text === 'string' ? [block.text] : []))
    .join('\n');
  const [start, end] = [text.indexOf('{'), text.lastIndexOf('}')];
  try {
    return JSON.parse(text.slice(start, end + 1));
  } catch (error) {
    throw new ModelError("the client's model did not answer with JSON", { cause: error });
  }
}
