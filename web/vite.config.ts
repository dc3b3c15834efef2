import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** Compressed once here, so that no request waits for it. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    writeBundle({ dir = '' }) {
      for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(js|css|html|svg)$/.test(name)) continue;
        const file = join(dir, name);
        const content = readFileSync(file);
        writeFileSync(`${file}.br`, brotliCompressSync(content));
        writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}

/** The Open Font License asks for its text beside the font. */
function fontLicence(): Plugin {
  const file = join(import.meta.dirname, '../node_modules/@fontsource-variable/inter/LICENSE');
  return {
    name: 'font-licence',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'assets/inter-licence.txt', source: readFileSync(file) });
    },
  };
}

const aggregator = 'http://127.0.0.1:8081';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), fontLicence(), precompress()],
  build: {
    outDir: '../dist-web',
    emptyOutDir: true,
    // Data in the page would need a wider Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // `npx vite web` beside a running aggregator.
  server: { proxy: { '/api': aggregator, '/mcp': aggregator, '/metrics': aggregator } },
});
