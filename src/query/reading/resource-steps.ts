/** Resources that fit the question, and templates filled with the values that the server suggests. Pure. */
import type { StrategyResource, StrategyTemplate } from '../strategy/strategy.ts';
import { type Filled, fittingLabel, type Planner, priorities, type Step, type StepTarget } from './step.ts';

const perFit = 25;
const unfitting = 20;
const maxFitting = 5;
/** So many are read whatever they are called; where no tool searches the server, more. */
const fewResources = 6;
const maxUnsearched = 60;

export function resourceSteps({ strategy, meter }: Planner): Step[] {
  const ranked = strategy.resources
    .filter(({ mimeType }) => !/^(?:image|audio|video)\//.test(mimeType ?? ''))
    .map((resource) => ({ resource, fit: meter.fit(`${resource.name} ${resource.description} ${resource.uri}`) }))
    .toSorted((a, b) => b.fit - a.fit);
  const isSearched = strategy.operations.some(({ kind }) => kind === 'search');
  const fitting = ranked.filter(({ fit }) => fit >= fittingLabel).length;
  const count =
    ranked.length <= fewResources ? fewResources : isSearched ? Math.min(fitting, maxFitting) : maxUnsearched;
  return ranked
    .slice(0, count)
    .map(({ resource, fit }) =>
      resourceStep(resource, priorities.resource + perFit * fit - (fit < fittingLabel ? unfitting : 0)),
    );
}

export function resourceStep(resource: StrategyResource, priority: number): Step {
  return {
    ...blankStep,
    key: `resource ${resource.uri}`,
    priority,
    target: { kind: 'resource', resource },
    context: `${resource.name} ${resource.uri}`.trim(),
    titles: [resource.name === '' ? resource.uri : resource.name],
  };
}

const blankStep = {
  scope: {},
  depth: 0,
  spelling: 0,
  others: [],
  titles: [],
  isParsed: false,
  isAggregate: false,
  isPlanned: false,
};

/** The first variable is completed with nothing: the server says what there is. */
export function templateSteps({ strategy, meter }: Planner): Step[] {
  return strategy.templates.flatMap((template) => {
    const [variable] = template.variables;
    if (variable === undefined) return [];
    const fit = meter.fit(`${template.name} ${template.description} ${template.uriTemplate}`);
    return [completionStep({ template, variable, value: '', filled: {} }, priorities.resource + perFit * fit)];
  });
}

type Completion = Omit<Extract<StepTarget, { kind: 'completion' }>, 'kind'>;

function completionStep(completion: Completion, priority: number): Step {
  const { template, variable, value, filled } = completion;
  return {
    ...blankStep,
    key: `completion ${template.uriTemplate} ${variable} ${value} ${JSON.stringify(filled)}`,
    priority,
    target: { kind: 'completion', ...completion },
    context: `${template.name} ${template.description}`.trim(),
  };
}

const maxValues = 200;
/** Servers answer at most a hundred values. */
const longList = 50;
const fewValues = 8;
const maxChosen = 5;
const maxNarrower = 3;
const unread = 50;

/** The values that fit the question; where none does, what begins like a word of the question. */
export function stepsFromCompletion({ meter, question }: Planner, step: Step, values: readonly string[]): Step[] {
  if (step.target.kind !== 'completion') return [];
  const { template, variable, value, filled } = step.target;
  const ranked = values
    .slice(0, maxValues)
    .map((text, place) => ({ text, place, fit: meter.fit(text) }))
    .toSorted((a, b) => b.fit - a.fit || a.place - b.place);
  const fitting = ranked.filter(({ fit }) => fit > 0);
  const words = question.keywords.flatMap((keyword) => keyword.toLowerCase().split(/\s+/)).slice(0, maxNarrower);
  const isTooMuch = value === '' && fitting.length === 0 && values.length >= longList;
  const narrower = isTooMuch ? words : [];
  return [
    ...narrower.map((word) => completionStep({ template, variable, value: word, filled }, step.priority - 5)),
    ...(ranked.length <= fewValues ? ranked : fitting.slice(0, maxChosen)).map(({ text, fit }) =>
      filledStep(template, { ...filled, [variable]: text }, text, fit, step.priority),
    ),
  ];
}

function filledStep(template: StrategyTemplate, filled: Filled, text: string, fit: number, priority: number): Step {
  const next = template.variables.find((name) => filled[name] === undefined);
  if (next !== undefined) return completionStep({ template, variable: next, value: '', filled }, priority + 10 * fit);
  const uri = fillUriTemplate(template.uriTemplate, filled);
  return resourceStep({ uri, name: `${template.name} ${text}`, description: '' }, unread + 2 * perFit * fit);
}

/** RFC 6570 as far as servers use it. */
export function fillUriTemplate(uriTemplate: string, values: Filled): string {
  return uriTemplate.replace(/\{([+#./;?&]?)([\w,*]+)\}/g, (_whole, operator: string, names: string) => {
    const parts = names.replaceAll('*', '').split(',');
    const valueFor = (name: string): string => values[name] ?? '';
    if (operator === '?' || operator === '&') {
      return operator + parts.map((name) => `${name}=${encodeURIComponent(valueFor(name))}`).join('&');
    }
    const isPlain = operator === '+' || operator === '#';
    return parts.map((name) => (isPlain ? valueFor(name) : encodeOnce(valueFor(name)))).join(',');
  });
}

/** Some servers suggest values that are encoded already. */
const encodeOnce = (value: string): string => (/%[0-9A-F]{2}/i.test(value) ? value : encodeURIComponent(value));
