/** Short messages about what was done, with Undo where it can be undone. */
import { useEffect, useSyncExternalStore } from 'react';
import { messageOf } from '../api.ts';
import styles from './messages.module.css';

interface Message {
  id: number;
  text: string;
  tone: 'good' | 'bad';
  undo?: () => Promise<unknown>;
}

const shownMs = 10_000;
const maxShown = 3;
let messages: readonly Message[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function update(next: readonly Message[]): void {
  messages = next;
  for (const listener of listeners) listener();
}

const dismiss = (id: number) => update(messages.filter((message) => message.id !== id));

export function say(text: string, { undo, tone = 'good' }: Partial<Pick<Message, 'undo' | 'tone'>> = {}): void {
  lastId += 1;
  update([...messages, { id: lastId, text, tone, undo }].slice(-maxShown));
}

export function Messages() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => messages,
  );
  return (
    <div className={styles.messages} role="status">
      {shown.map((message) => (
        <MessageLine key={message.id} message={message} />
      ))}
    </div>
  );
}

function MessageLine({ message: { id, text, tone, undo } }: { message: Message }) {
  useEffect(() => {
    const timer = window.setTimeout(() => dismiss(id), shownMs);
    return () => window.clearTimeout(timer);
  }, [id]);
  return (
    <p className={styles.message} data-tone={tone}>
      <span>{text}</span>
      {undo !== undefined && (
        <button
          type="button"
          className="small"
          onClick={() => {
            dismiss(id);
            undo().then(
              () => say('Undone.'),
              (error: unknown) => say(`Could not undo it: ${messageOf(error)}`, { tone: 'bad' }),
            );
          }}
        >
          Undo
        </button>
      )}
      <button type="button" className="small quiet" aria-label="Dismiss" onClick={() => dismiss(id)}>
        ✕
      </button>
    </p>
  );
}
