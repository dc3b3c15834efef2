import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { type AnswerOf, type ServerList, serversPath } from '../api.ts';
import { useResource } from '../resource.ts';
import { linkTo } from '../route.ts';
import styles from './palette.module.css';

export interface Command {
  name: string;
  /** What it is, beside the name. */
  kind: string;
  run: () => void;
}

const maxShown = 30;

/** Ctrl-K: pages, servers, tools and actions by name, from anywhere. */
export function Palette({ commands, onClose }: { commands: readonly Command[]; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const found = useFound(commands, text);
  const current = Math.min(chosen, found.length - 1);
  useEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen one may have changed its place
  useEffect(() => {
    document.getElementById(`${id}-${current}`)?.scrollIntoView({ block: 'nearest' });
  }, [id, current, found]);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    dialog.current?.close();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((current + step + found.length) % Math.max(1, found.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      run(found[current]);
    }
  };
  return (
    <dialog ref={dialog} className={styles.palette} aria-label="Go to" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-label="Go to a page, server or tool"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length === 0 ? undefined : `${id}-${current}`}
        autoComplete="off"
        placeholder="Go to a page, server or tool"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className={styles.list} role="listbox" id={`${id}-list`} aria-label="Found">
        {found.map((command, place) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input (combobox)
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
          <div
            key={`${command.kind} ${command.name}`}
            id={`${id}-${place}`}
            role="option"
            aria-selected={place === current}
            onClick={() => run(command)}
          >
            <span>{command.name}</span>
            <span>{command.kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="none">Nothing matches.</p>}
    </dialog>
  );
}

type ToolList = AnswerOf<'getAggregatorTools'>;

function useFound(commands: readonly Command[], text: string): readonly Command[] {
  const { data: list } = useResource<ServerList>(`${serversPath}?limit=1000`);
  const { data: tools } = useResource<ToolList>('/api/v1/aggregator/tools');
  const all = useMemo(
    () => [
      ...commands,
      ...(list?.servers ?? []).map(({ name }) => goTo('Server', name, 'servers', name)),
      ...(tools?.servers ?? []).flatMap((server) => server.tools.map(({ name }) => goTo('Tool', name, 'tools', name))),
    ],
    [commands, list, tools],
  );
  return useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const scored = all.flatMap((command) => {
      const name = command.name.toLowerCase();
      if (!words.every((word) => name.includes(word) || command.kind.toLowerCase().includes(word))) return [];
      const starts = name.startsWith(words[0] ?? '') ? 0 : 1;
      return [{ command, starts }];
    });
    return scored
      .sort((a, b) => a.starts - b.starts)
      .slice(0, maxShown)
      .map(({ command }) => command);
  }, [all, text]);
}

const goTo = (kind: string, name: string, ...parts: string[]): Command => ({
  name,
  kind,
  run() {
    window.location.hash = linkTo(...parts);
  },
});
