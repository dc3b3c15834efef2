import { formatClientSuite, runClientSuite } from './client-suite.ts';

for (const revision of ['2025-11-25', '2026-07-28'] as const) {
  const results = await runClientSuite(revision);
  console.log(formatClientSuite(results));
  if (results.some(({ required, failed }) => required && failed > 0)) process.exitCode = 1;
}
