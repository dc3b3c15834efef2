/** What a server asks for during a call: a form, a visit to a page, or the answer of a model. */
import { type FormEvent, useState } from 'react';
import type { Json } from '../api.ts';
import type { Question } from '../mcp-call.ts';
import { isObject, type Schema } from '../schema.ts';
import { JsonTree } from './json-tree.tsx';
import { SafeLink } from './markdown.tsx';
import { SchemaForm } from './schema-form.tsx';
import { useArguments } from './use-arguments.ts';

/** One after the other; the answers go back together. */
export function Questions({ questions, onAnswer }: { questions: Question[]; onAnswer: (answers: Json) => void }) {
  const [answers, setAnswers] = useState<Json>({});
  const question = questions.find(({ key }) => !(key in answers));
  if (question === undefined) return null;
  const answer = (given: Json) => {
    const all = { ...answers, [question.key]: given };
    setAnswers(all);
    if (questions.every(({ key }) => key in all)) onAnswer(all);
  };
  const Form = question.method === 'sampling/createMessage' ? SamplingForm : ElicitationForm;
  return <Form key={question.key} question={question} onAnswer={answer} />;
}

interface FormProps {
  question: Question;
  onAnswer: (answer: Json) => void;
}

const title = 'The server requests input';

function ElicitationForm({ question: { params }, onAnswer }: FormProps) {
  const schema: Schema = isObject(params.requestedSchema) ? params.requestedSchema : {};
  const form = useArguments(schema);
  const url = typeof params.url === 'string' ? params.url : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (url !== undefined) return onAnswer({ action: 'accept' });
    const content = form.check();
    if (content !== undefined) onAnswer({ action: 'accept', content });
  };
  return (
    <form className="card question" aria-label={title} onSubmit={submit} noValidate>
      <h3>{title}</h3>
      <p className="lines">{String(params.message ?? 'The server needs your answer to continue.')}</p>
      {url === undefined ? (
        <SchemaForm schema={schema} value={form.value} problems={form.problems} onChange={form.setValue} />
      ) : (
        <p>
          Complete this on the following page, then return here: <SafeLink href={url}>{url}</SafeLink>
        </p>
      )}
      <div className="actions">
        <button type="submit" className="primary">
          {url === undefined ? 'Answer' : 'Done'}
        </button>
        <button type="button" onClick={() => onAnswer({ action: 'decline' })}>
          Decline
        </button>
      </div>
    </form>
  );
}

/** Where an MCP client would ask its model, the user answers. */
function SamplingForm({ question: { params }, onAnswer }: FormProps) {
  const [text, setText] = useState('');
  const messages = Array.isArray(params.messages) ? params.messages.filter(isObject) : [];
  const { messages: _shown, systemPrompt, ...rest } = params;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAnswer({
      role: 'assistant',
      content: { type: 'text', text },
      model: 'none (written by hand)',
      stopReason: 'endTurn',
    });
  };
  return (
    <form className="card question" aria-label={title} onSubmit={submit}>
      <h3>The server asks a model (sampling)</h3>
      <p>An MCP client would send this to its model. Write the answer yourself, or cancel the call.</p>
      {typeof systemPrompt === 'string' && (
        <p className="lines">
          <strong>System prompt:</strong> {systemPrompt}
        </p>
      )}
      {messages.map(({ role, content }, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a question does not change
        <div key={place}>
          <strong>{String(role)}:</strong>{' '}
          {isObject(content) && content.type === 'text' ? (
            <span className="lines">{String(content.text)}</span>
          ) : (
            <JsonTree value={content} />
          )}
        </div>
      ))}
      <JsonTree name="settings" value={rest} depth={2} />
      <div className="field">
        <label htmlFor="sampling-answer">Answer of the model</label>
        <textarea
          id="sampling-answer"
          rows={4}
          required
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <div className="actions">
        <button type="submit" className="primary">
          Answer
        </button>
      </div>
    </form>
  );
}
