/** The body of a REST request as a value. */
import { ValidationError } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { isBodyTooDeep, maxBodyDepth } from '../json-size.ts';

/** Undefined where there is none. */
export function readJsonBody(text: string | undefined, contentType: string | undefined): unknown {
  if (text === undefined || text === '') return undefined;
  if (contentType !== undefined && !/^application\/(.+\+)?json\b/i.test(contentType)) {
    throw refused(['header', 'content-type'], 'must be application/json');
  }
  if (isBodyTooDeep(text)) throw refused(['body'], `is nested more than ${maxBodyDepth} levels deep`);
  try {
    return parseJson(text);
  } catch {
    throw refused(['body'], 'is not valid JSON', 'json_invalid');
  }
}

const refused = (loc: string[], msg: string, type = 'value_error') => new ValidationError([{ loc, msg, type }]);
