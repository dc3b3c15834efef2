/** A REST route as data: what validates a request also documents it. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { View } from '../catalog/view.ts';
import { ValidationError } from '../errors.ts';
import type { ConnectionOrigin } from '../registry/connection-patch.ts';
import { toProblems } from '../registry/problems.ts';
import type { RequestContext } from '../request-context.ts';
import type { Principal } from '../security/auth.ts';
import type { Role } from '../store/schema.ts';

export interface RouteContext<Params, Query, Body> extends RequestContext {
  params: Params;
  query: Query;
  body: Body;
  principal: Principal;
  view: View;
  address: string;
  /** `local`: from someone who can read the data directory, and proved it. */
  from: ConnectionOrigin;
  /** Adds to the request's line in the log. */
  note(fields: Record<string, unknown>): void;
  /** Aborts when the client disconnects before it has its answer. */
  signal: AbortSignal;
  /** Aborts when the aggregator shuts down: endless answers end then. */
  closing: AbortSignal;
  request: FastifyRequest;
  reply: FastifyReply;
}

type Parsed<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined;

interface Route<
  Params extends z.ZodType | undefined = z.ZodType | undefined,
  Query extends z.ZodType | undefined = z.ZodType | undefined,
  Body extends z.ZodType | undefined = z.ZodType | undefined,
> {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `{name}` for parameters, as OpenAPI writes it. */
  path: string;
  summary: string;
  tag: string;
  /** The minimum role, or no authentication. */
  role: Role | 'public';
  /** Refused for tokens that are limited to servers or a profile, because the route affects more than those. */
  unbound?: true;
  params?: Params;
  query?: Query;
  body?: Body;
  /** Answers by status, for the documentation; `streamed` if the client can request events. */
  answers: Record<number, { description: string; schema?: z.ZodType; contentType?: string; streamed?: z.ZodType }>;
  handle(context: RouteContext<Parsed<Params>, Parsed<Query>, Parsed<Body>>): unknown;
}

/** The part of a request that decides what may be seen. */
export type Viewer = Pick<RouteContext<never, never, never>, 'principal' | 'view'>;

// The table holds routes with different schemas; `route` has checked each against its own.
export type AnyRoute = Omit<Route, 'handle'> & { handle(context: RouteContext<never, never, never>): unknown };

export function route<
  Params extends z.ZodType | undefined = undefined,
  Query extends z.ZodType | undefined = undefined,
  Body extends z.ZodType | undefined = undefined,
>(definition: Route<Params, Query, Body>): AnyRoute {
  return definition as unknown as AnyRoute;
}

export function parse(schema: z.ZodType | undefined, value: unknown, place: 'path' | 'query' | 'body'): unknown {
  if (schema === undefined) return undefined;
  const parsed = schema.safeParse(value, { reportInput: true });
  if (!parsed.success) throw new ValidationError(toProblems(parsed.error, [place]));
  return parsed.data;
}
