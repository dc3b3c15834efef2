import { createFeatureProgram } from './feature-program.ts';
import { serveStdio } from './stdio-wire.ts';

// node stdio-legacy.ts '{"label": "a", "extraTools": 10}'
const options = JSON.parse(process.argv[2] ?? '{}');
serveStdio(createFeatureProgram(options), 'legacy', options.initializeDelayMs);
