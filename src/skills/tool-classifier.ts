/** Sorts tools into skills beside everything else, stores what it found and publishes it: catalog and search subscribe. */
import { isDeepStrictEqual } from 'node:util';
import type { Catalog } from '../catalog/catalog.ts';
import type { Changes } from '../changes.ts';
import { describe } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Model } from '../model.ts';
import type { Database } from '../store/database.ts';
import type { ToolRow } from '../store/schema.ts';
import { clearToolSkills, type ToolChanges, updateClassificationState, updateToolSkills } from '../store/tools.ts';
import { createTimeSlice } from '../time-slice.ts';
import { type Outcome, sortOutcomes, toClassifiedRows, toOutcome } from './classification-outcome.ts';
import { createClassificationQueue } from './classification-queue.ts';
import { createModelClassifier } from './classifier-model.ts';
import { createEmbeddedClassifier } from './embedded-classifier.ts';
import { rememberClassifications } from './remembered-classifications.ts';
import type { SkillStore } from './skill-store.ts';
import type { EmbedText } from './tool-features.ts';
import { type DescribedServer, describeServer, type ToolToClassify, toToolToClassify } from './tool-to-classify.ts';
import { loadTrainedClassifier } from './trained-classifier.ts';

export interface ToolClassifier {
  /** Tools that wait for their skills. */
  readonly backlog: number;
  close(): Promise<void>;
}

interface ToolClassifierDependencies {
  db: Database;
  catalog: Pick<Catalog, 'snapshot'>;
  skillStore: Pick<SkillStore, 'list'>;
  changes: Changes;
  log: Logger;
  findServer(id: string): DescribedServer | undefined;
  /** Of the built-in model, whatever search uses. */
  embed: EmbedText;
  /** Without it the embedded classifier decides. */
  model?: Model;
  /** False where another replica classifies this server's tools. */
  isOurs?: (serverId: string) => boolean;
}

const saveEveryMs = 100;
const saveAgainMs = 1_000;

export function createToolClassifier(deps: ToolClassifierDependencies): ToolClassifier {
  const { db, catalog, skillStore, changes, log, embed, findServer, isOurs = () => true } = deps;
  const model = deps.model && rememberClassifications(db, createModelClassifier(deps.model));
  /** By tool that was ever queued: its server. */
  const serverOf = new Map<number, string>();
  /** By server: its name and description when they were last looked at. */
  const describedAs = new Map<string, ToolToClassify['server']>(
    catalog.snapshot.tools.map(({ server }) => [server.id, describeServer(server)]),
  );
  const unsaved = new Map<number, Outcome>();
  const slice = createTimeSlice();
  const trained = loadTrainedClassifier();
  let classifyEmbedded = createEmbeddedClassifier(trained, embed, skillStore.list());
  let saving: Promise<unknown> = Promise.resolve();
  let saveTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const queue = createClassificationQueue({
    async classify(tools, signal) {
      if (model !== undefined) return await model(tools, skillStore.list(), signal);
      await slice.giveWay();
      return new Map(tools.map((tool) => [tool.id, classifyEmbedded(tool)]));
    },
    onClassified: (id, classification) => keep(id, toOutcome(classification)),
    onUnclassified(id, error) {
      log.debug({ tool: id, error: describe(error) }, 'could not classify a tool yet');
      keep(id, null);
    },
  });

  const offs = [
    changes.subscribe('tools.discovered', ({ toolChanges }) => {
      forget(toolChanges.removed.map(({ id }) => id));
      add(newIn(toolChanges));
    }),
    // Another replica discovered and classifies them.
    changes.subscribe('tools.reloaded', ({ toolChanges }) => forget(toolChanges.removed.map(({ id }) => id))),
    changes.subscribe('server.removed', ({ server_id }) => {
      describedAs.delete(server_id);
      forget([...serverOf].flatMap(([id, owner]) => (owner === server_id ? [id] : [])));
    }),
    changes.subscribe('server.updated', ({ server_id }) => {
      if (isOurs(server_id) && isDescribedOtherwise(server_id)) addPending((id) => id === server_id, true);
    }),
    changes.subscribe('skills.changed', reclassify),
    // Those that no replica has classified yet.
    changes.subscribe('lease.gained', ({ server_id }) => addPending((candidate) => candidate === server_id)),
  ];
  // EC-009: what could not be classified before the last stop is tried again.
  addPending(isOurs);

  function add(rows: readonly ToolRow[]): void {
    const tools = rows.map((row) => {
      const serverId = row.source_server_id ?? '';
      const tool = toToolToClassify(row, findServer(serverId));
      serverOf.set(row.id, serverId);
      describedAs.set(serverId, tool.server);
      return tool;
    });
    queue.add(tools);
  }

  function isDescribedOtherwise(serverId: string): boolean {
    const before = describedAs.get(serverId);
    const now = describeServer(findServer(serverId));
    describedAs.set(serverId, now);
    return before !== undefined && !isDeepStrictEqual(before, now);
  }

  function addPending(concerns: (serverId: string) => boolean, again = false): void {
    const pending = catalog.snapshot.tools.filter(
      ({ row, server }) =>
        (again || row.classification_state !== 'CLASSIFIED') &&
        queue.stateOf(row.id) !== 'CLASSIFYING' &&
        concerns(server.id),
    );
    add(pending.map(({ row }) => row));
  }

  function forget(ids: number[]): void {
    for (const id of ids) {
      serverOf.delete(id);
      unsaved.delete(id);
    }
    queue.remove(ids);
  }

  function reclassify({ reloaded }: { reloaded: boolean }): void {
    classifyEmbedded = createEmbeddedClassifier(trained, embed, skillStore.list());
    const { tools } = catalog.snapshot;
    add(tools.filter(({ server }) => isOurs(server.id)).map(({ row }) => row));
    if (reloaded) return;
    // A replica that leads a server classifies its tools itself; of the others, the next one that leads finds them so.
    const others = tools.filter(({ server }) => !isOurs(server.id)).map(({ row }) => row.id);
    saving = saving
      .then(() => updateClassificationState(db, others, 'CLASSIFYING'))
      .catch((error: unknown) => log.error({ err: error }, 'could not store skills'));
  }

  function keep(id: number, outcome: Outcome): void {
    unsaved.set(id, outcome);
    saveSoon();
  }

  /** Many results, one write and one new snapshot. */
  function saveSoon(afterMs = saveEveryMs): void {
    if (isClosed) return;
    saveTimer ??= setTimeout(() => {
      saveTimer = undefined;
      saving = saving.then(save).catch((error: unknown) => {
        log.error({ err: error }, 'could not store skills; retrying automatically');
        saveSoon(saveAgainMs);
      });
    }, afterMs);
  }

  async function save(): Promise<void> {
    const outcomes = new Map(unsaved);
    const { fitting, unfit, notYet } = sortOutcomes(outcomes);
    await updateToolSkills(db, fitting);
    await clearToolSkills(db, unfit);
    await updateClassificationState(db, notYet, 'UNCLASSIFIED');
    const rows = catalog.snapshot.tools.map(({ row }) => row);
    const tools = toClassifiedRows(rows, outcomes);
    changes.publish('tools.classified', { tools });
    for (const [id, outcome] of outcomes) if (unsaved.get(id) === outcome) unsaved.delete(id);
    const serverIds = new Set(tools.flatMap(({ source_server_id: id }) => (id === null ? [] : [id])));
    for (const server_id of serverIds) changes.publish('tools.stored', { server_id });
  }

  return {
    get backlog() {
      // Those that could not be classified yet still wait in the queue.
      return queue.pending + [...unsaved.values()].filter((outcome) => outcome !== null).length;
    },
    async close() {
      isClosed = true;
      for (const off of offs) off();
      await queue.close();
      clearTimeout(saveTimer);
      await saving;
    },
  };
}

const newIn = ({ added, changed }: ToolChanges): ToolRow[] => [...added, ...changed.map(({ after }) => after)];
