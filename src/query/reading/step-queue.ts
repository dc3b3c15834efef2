/** What is still to be asked of a server: nothing twice, nothing of a tool that rests, the most promising first. */
import type { ServerKnowledge } from './knowledge.ts';
import type { Step } from './step.ts';

interface StepQueue {
  add(steps: readonly Step[]): void;
  /** The most promising that promises at least so much. */
  next(minPriority: number): Step | undefined;
  /** These are not asked any more, nor others like them that come later. */
  exclude(isObsolete: (step: Step) => boolean): void;
  /** The number of the next rung of a search, when every wording of this one has been answered. */
  finish(step: Step): number | undefined;
  /** Tools that were left alone because they kept failing. */
  readonly resting: readonly string[];
}

/** `isNamed`: the caller named the server, so its tools are asked whatever happened before. */
export function createStepQueue(knowledge: ServerKnowledge, now: () => number, isNamed = false): StepQueue {
  const waiting: Step[] = [];
  const seen = new Set<string>();
  const resting = new Set<string>();
  const excluded: ((step: Step) => boolean)[] = [];
  /** By search and the handles it was given: wordings that are not answered yet. */
  const rungs = new Map<string, { rung: number; open: number }>();

  function rungOf({ target, scope }: Step): { rung: number; open: number } {
    const key = `${target.kind === 'tool' ? target.operation.tool : ''} ${JSON.stringify(scope)}`;
    const state = rungs.get(key) ?? { rung: 0, open: 0 };
    rungs.set(key, state);
    return state;
  }

  function isResting({ target, from }: Step): boolean {
    if (target.kind !== 'tool') return false;
    const { tool } = target.operation;
    if (from !== undefined && knowledge.pair(from, tool).restsUntil > now()) return true;
    const rests = !isNamed && knowledge.tool(tool).restsUntil > now();
    if (rests) resting.add(tool);
    return rests;
  }

  return {
    add(steps) {
      for (const step of steps) {
        if (seen.has(step.key) || isResting(step) || excluded.some((isObsolete) => isObsolete(step))) continue;
        seen.add(step.key);
        waiting.push(step);
        if (step.input !== undefined) rungOf(step).open += 1;
      }
    },
    next(minPriority) {
      let best = 0;
      for (const [at, step] of waiting.entries()) if (step.priority > (waiting[best]?.priority ?? 0)) best = at;
      const step = waiting[best];
      if (step === undefined || step.priority < minPriority) return undefined;
      waiting.splice(best, 1);
      return step;
    },
    exclude(isObsolete) {
      excluded.push(isObsolete);
      const left = waiting.filter((step) => !isObsolete(step));
      waiting.splice(0, waiting.length, ...left);
    },
    finish(step) {
      if (step.input === undefined) return undefined;
      const state = rungOf(step);
      state.open -= 1;
      if (state.open > 0) return undefined;
      state.rung += 1;
      return state.rung;
    },
    get resting() {
      return [...resting];
    },
  };
}
