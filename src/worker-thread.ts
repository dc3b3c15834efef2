/** The program of the thread beside the event loop: carries out one order after the other. */
import { parentPort } from 'node:worker_threads';
import { describe } from './errors.ts';
import type { Answer, Order, Worked } from './worker-task.ts';

parentPort?.on('message', ({ module, input }: Order) => {
  void carryOut(module, input).then(
    ({ output, transfer }) => answer({ output }, transfer),
    (error: unknown) => answer({ error: describe(error) }, []),
  );
});

async function carryOut(module: string, input: unknown): Promise<Worked<unknown>> {
  const { work } = (await import(module)) as { work(input: unknown): Worked<unknown> };
  return work(input);
}

function answer(message: Answer, transfer: Worked<unknown>['transfer']): void {
  parentPort?.postMessage(message, transfer);
}
