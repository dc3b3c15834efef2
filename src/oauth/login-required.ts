import { AppError } from '../errors.ts';

export interface LoginNeed {
  login: 'required' | 'expired';
  /** The credentials that are there still work for other requests; this one needs more permissions. */
  stepUp?: boolean;
}

/** The one error that requires a login; a link is added on the way out if the caller is known. */
export function loginRequired(server: string, { login, stepUp = false }: LoginNeed): AppError {
  const what = stepUp ? 'login required for more permissions' : `login ${login}`;
  return new AppError('LOGIN_REQUIRED', `${what}: log in with: mcp-aggregator login ${server}`, {
    context: { login, step_up: stepUp },
  });
}
