import { serveWorkerTask } from '../../src/worker-task.ts';

serveWorkerTask<string, string>((input) => {
  if (input === 'throw') throw new Error('thrown by the work');
  if (input === 'exit') process.exit(1);
  while (input === 'hang');
  return { output: input.toUpperCase(), transfer: [] };
});
