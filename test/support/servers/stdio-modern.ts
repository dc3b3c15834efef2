import { createFeatureProgram } from './feature-program.ts';
import { serveStdio } from './stdio-wire.ts';

// node stdio-modern.ts '{"label": "a", "extraTools": 10}'
const options = JSON.parse(process.argv[2] ?? '{}');
serveStdio(createFeatureProgram(options), 'modern');
