import type { Worked } from '../../src/worker-task.ts';

export function work(input: string): Worked<string> {
  if (input === 'throw') throw new Error('thrown by the work');
  if (input === 'exit') process.exit(1);
  while (input === 'hang');
  return { output: input.toUpperCase(), transfer: [] };
}
