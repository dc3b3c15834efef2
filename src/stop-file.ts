/** Windows has no signals between programs: a file in the data directory asks its owner to end. */
import { rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const fileName = 'stop-requested';

export function requestStop(dataDir: string): void {
  writeFileSync(join(dataDir, fileName), '');
}

export function onStopRequested(dataDir: string, stop: () => void): void {
  rmSync(join(dataDir, fileName), { force: true });
  watch(dataDir, { persistent: false }, (_event, name) => {
    if (name !== fileName) return;
    rmSync(join(dataDir, fileName), { force: true });
    stop();
  });
}
