// Builds the dashboard into dist-web/. Plain JavaScript: it runs while packages are installed, on whatever Node there is.
import { fileURLToPath } from 'node:url';

const vite = await import('vite').catch((error) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
});
if (vite === undefined) {
  console.log('The dashboard was not built: that needs the development packages. Everything else works without it.');
} else {
  await vite.build({
    configFile: fileURLToPath(new URL('../web/vite.config.ts', import.meta.url)),
    logLevel: process.env.npm_lifecycle_event === 'prepare' ? 'warn' : 'info',
  });
}
