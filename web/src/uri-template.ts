/** URI templates of resources (RFC 6570), as far as servers use them: `{a}`, `{+path}`, `{/a}`, `{?a,b}`. */
import type { Schema } from './schema.ts';

interface Expression {
  operator: string;
  names: string[];
}

/** Text and expressions in turn. */
function partsOf(template: string): (string | Expression)[] {
  return template.split(/(\{[^{}]*\})/).flatMap((part): (string | Expression)[] => {
    if (!part.startsWith('{')) return part === '' ? [] : [part];
    const operator = /^[+#./;?&]/.exec(part.slice(1))?.[0] ?? '';
    const names = part.slice(1 + operator.length, -1).split(',');
    return [{ operator, names: names.map((name) => name.replace(/(\*|:\d+)$/, '')) }];
  });
}

export const isTemplate = (uri: string) => /\{[^{}]+\}/.test(uri);

/** The form for its variables. Those of a query may be left out. */
export function toVariables(template: string): Schema {
  const expressions = partsOf(template).filter((part) => typeof part !== 'string');
  const required = expressions.filter(({ operator }) => !'?&;#'.includes(operator) || operator === '');
  return {
    type: 'object',
    properties: Object.fromEntries(expressions.flatMap(({ names }) => names.map((name) => [name, { type: 'string' }]))),
    required: required.flatMap(({ names }) => names),
  };
}

export function expand(template: string, values: Record<string, unknown>): string {
  return partsOf(template)
    .map((part) => (typeof part === 'string' ? part : expandOne(part, values)))
    .join('');
}

function expandOne({ operator, names }: Expression, values: Record<string, unknown>): string {
  const given = names.filter((name) => values[name] !== undefined);
  if (given.length === 0) return '';
  const encode = operator === '+' || operator === '#' ? encodeURI : encodeURIComponent;
  const texts = given.map((name) => encode(String(values[name])));
  if ('?&;'.includes(operator) && operator !== '') {
    return `${operator}${given.map((name, place) => `${name}=${texts[place]}`).join(operator === '?' ? '&' : operator)}`;
  }
  const separator = operator === '/' || operator === '.' ? operator : ',';
  return `${operator === '+' ? '' : operator}${texts.join(separator)}`;
}
