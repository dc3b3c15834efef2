/** Pages for the people who log in. */
import { z } from 'zod';
import { AppError } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import { pageHeaders, problemPage } from '../oauth/pages.ts';
import type { RouteContext } from './route.ts';

export type PageContext = Pick<
  RouteContext<unknown, unknown, unknown>,
  'request' | 'reply' | 'address' | 'authorization'
>;

interface PageLink {
  href: string;
  text: string;
}

/** The answer of a route that sends a page. */
export const html = { description: 'A page', schema: z.string(), contentType: 'text/html' };

export function show({ reply }: PageContext, page: string, status = 200): unknown {
  return reply.status(status).headers(pageHeaders).type('text/html; charset=utf-8').send(page);
}

/** Errors of these routes are shown as HTML pages instead of JSON. */
export async function asPage(
  context: PageContext,
  make: () => Promise<unknown>,
  back?: PageLink,
  title = 'Login failed',
) {
  try {
    return await make();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.retryAfterSeconds !== undefined) context.reply.header('retry-after', String(error.retryAfterSeconds));
    return show(context, problemPage(error.message, back, title), error.status);
  }
}

/** A ticket trusts the user of this host; behind a proxy, remote users would be trusted as well. */
export function isFromHere({ request, address }: PageContext): boolean {
  const { host = '', forwarded, 'x-forwarded-for': forwardedFor } = request.headers;
  const name = host.replace(/:\d+$/, '');
  return isLoopback(name) && isLoopback(address) && forwarded === undefined && forwardedFor === undefined;
}
