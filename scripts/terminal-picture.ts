/** `npm run terminal-picture`: docs/images/terminal.svg, from the first commands of README.md and what they print. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createDesk } from '../test/support/desk.ts';
import { blocksOf } from '../test/support/document-blocks.ts';

const file = (path: string) => new URL(`../${path}`, import.meta.url);
const padding = 24;
const barHeight = 40;
const lineHeight = 20;
const characterWidth = 8.43;
const columns = 102;

const block = blocksOf(readFileSync(file('README.md'), 'utf8')).find(({ language }) => language === 'console');
if (block === undefined) throw new Error('README.md has no console block.');
const desk = await createDesk();
try {
  const ran = await desk.run(block.steps.map(({ command }) => command));
  const lines = ran.flatMap(({ code, output }, at) => {
    const { command } = block.steps[at] ?? { command: '' };
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${output}`);
    return [...(at === 0 ? [] : ['']), `$ ${command}`, ...output.split('\n')];
  });
  writeFileSync(file('docs/images/terminal.svg'), toPicture(lines));
} finally {
  await desk.close();
}

function toPicture(lines: readonly string[]): string {
  const width = Math.round(columns * characterWidth + 2 * padding);
  const height = barHeight + lines.length * lineHeight + padding;
  const buttons = ['#ff5f57', '#febc2e', '#28c840'].map(
    (colour, at) => `<circle cx="${padding + at * 20}" cy="20" r="6" fill="${colour}"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="A terminal session with mcp-aggregator">
<rect width="${width}" height="${height}" rx="10" fill="#15181d"/>
${buttons.join('\n')}
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="#c9d1d9">
${lines.map(toLine).join('\n')}
</g>
</svg>
`;
}

function toLine(line: string, at: number): string {
  const y = barHeight + at * lineHeight + 14;
  const text = line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
  const isCommand = text.startsWith('$ ');
  const shown = isCommand ? `<tspan fill="#7ee787">$</tspan>${escaped(text.slice(1))}` : escaped(text);
  return `<text x="${padding}" y="${y}" xml:space="preserve"${isCommand ? ' fill="#ffffff"' : ''}>${shown}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
