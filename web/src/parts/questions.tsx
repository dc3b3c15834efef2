/** Input requests of a server during a call. */
import { type FormEvent, useState } from 'react';
import type { Json } from '../api.ts';
import type { Question } from '../mcp-call.ts';
import { isObject, type Problems, type Schema, startValue, validate } from '../schema.ts';
import { SafeLink } from './markdown.tsx';
import { SchemaForm } from './schema-form.tsx';

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
  return <QuestionForm key={question.key} question={question} onAnswer={answer} />;
}

function QuestionForm({ question, onAnswer }: { question: Question; onAnswer: (answer: Json) => void }) {
  const { params } = question;
  const schema: Schema = isObject(params.requestedSchema) ? params.requestedSchema : {};
  const [value, setValue] = useState<Json>(() => {
    const start = startValue(schema, schema);
    return isObject(start) ? start : {};
  });
  const [problems, setProblems] = useState<Problems>({});
  const url = typeof params.url === 'string' ? params.url : undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = validate(value, schema);
    setProblems(found);
    if (Object.keys(found).length > 0) return;
    onAnswer(url === undefined ? { action: 'accept', content: value } : { action: 'accept' });
  };
  return (
    <form className="card question" aria-label="The server requests input" onSubmit={submit} noValidate>
      <h3>The server requests input</h3>
      <p className="lines">{String(params.message ?? 'The server needs your answer to continue.')}</p>
      {url === undefined ? (
        <SchemaForm schema={schema} value={value} problems={problems} onChange={setValue} />
      ) : (
        <p>
          Complete this on the following page, then return here: <SafeLink href={url} text={url} />
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
