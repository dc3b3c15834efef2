import { type ChangeEvent, useState } from 'react';
import { type AnswerOf, api } from '../api.ts';
import { useAction } from '../parts/action.ts';
import { Confirm } from '../parts/dialog.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { Failure, Notice } from '../parts/notice.tsx';
import { resources } from '../resource.ts';
import { isObject, readJson } from '../schema.ts';

type ImportAnswer = AnswerOf<'postAggregatorBackup'>;

const backupPath = '/api/v1/aggregator/backup';

/** The configuration as a file, and back. */
export function BackupView() {
  const [chosen, setChosen] = useState<{ name: string; backup: Record<string, unknown> }>();
  const [problem, setProblem] = useState<string>();
  const [result, setResult] = useState<ImportAnswer>();
  const { running, error, run } = useAction();
  const choose = async (event: ChangeEvent<HTMLInputElement>) => {
    const input = event.currentTarget;
    const file = input.files?.[0];
    if (file === undefined) return;
    const read = readJson(await file.text())?.value;
    // The same file can be chosen again.
    input.value = '';
    const isBackup = isObject(read) && read.format === 'mcp-aggregator backup';
    setProblem(isBackup ? undefined : `${file.name} is not a backup of mcp-aggregator.`);
    if (isBackup) setChosen({ name: file.name, backup: read });
  };
  const restore = (backup: Record<string, unknown>) =>
    run(async () => {
      setResult(await api<ImportAnswer>('POST', backupPath, backup));
      await resources.invalidateQueries();
    });
  return (
    <>
      <section className="card narrow">
        <h2>Export</h2>
        <p>
          Servers with their sealed credentials, token hashes, profiles, categories and rules, as a file. Keep it
          secret. It can be imported wherever the same credential key is configured.
        </p>
        <a className="button primary" href={backupPath} download="mcp-aggregator-backup.json">
          Download the backup
        </a>
      </section>
      <section className="card narrow">
        <h2>Import</h2>
        <p>Entries with the same ID are replaced; nothing is removed.</p>
        <div className="field">
          <label htmlFor="backup-file">Backup file</label>
          <input
            id="backup-file"
            type="file"
            accept="application/json,.json"
            disabled={running}
            onChange={(event) => void choose(event)}
          />
        </div>
        {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
        <Failure error={error} />
        {result !== undefined && (
          <Notice tone="good">
            <p>Imported.</p>
            <JsonTree value={result} />
          </Notice>
        )}
      </section>
      {chosen !== undefined && (
        <Confirm
          title={`Import ${chosen.name}?`}
          action="Import"
          onClose={() => setChosen(undefined)}
          onConfirm={() => void restore(chosen.backup)}
        >
          <p>Servers, tokens, profiles, categories and rules with the same ID are replaced. Servers reconnect.</p>
        </Confirm>
      )}
    </>
  );
}
