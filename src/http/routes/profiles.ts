/** `/api/v1/profiles`: named selections of servers and tools, each an MCP endpoint of its own. */
import { z } from 'zod';
import {
  type Profile,
  type ProfileDefinition,
  profileDefinition,
  profileName,
  reachesOnly,
  withinServers,
} from '../../catalog/profile.ts';
import type { Profiles } from '../../catalog/profiles.ts';
import { AppError } from '../../errors.ts';
import type { Audit } from '../../security/audit.ts';
import type { Principal } from '../../security/auth.ts';
import { maySee } from '../../security/policy.ts';
import { didYouMean } from '../../suggestions.ts';
import { type AnyRoute, route } from '../route.ts';

const profileView = profileDefinition.extend({ name: z.string(), endpoint: z.string() });
const byName = z.object({ name: profileName });
const notFound = { description: 'Profile not found' };
const tag = 'profiles';

const pricedTools = z.array(z.object({ name: z.string(), tokens: z.int() }));

const previewView = z.object({
  exposure: z.enum(['all', 'search']).describe('what auto comes to with the tools of now'),
  tools: pricedTools.describe('as MCP clients list them, with estimated tokens'),
  tokens: z.int(),
  available: pricedTools.describe('what clients can call: listed, or found with the search tools'),
  available_tokens: z.int(),
});

export interface ProfileRouteDependencies {
  profiles: Profiles;
  audit: Audit;
  mcp: { previewList(definition: ProfileDefinition, principal: Principal): z.infer<typeof previewView> };
}

export function profileRoutes({ profiles, audit, mcp }: ProfileRouteDependencies): AnyRoute[] {
  const toView = <T extends { name: string }>(profile: T) => ({
    ...profile,
    endpoint: `/mcp/profiles/${profile.name}`,
  });

  return [
    route({
      method: 'GET',
      path: '/api/v1/profiles',
      tag,
      summary: 'List profiles',
      role: 'viewer',
      answers: {
        200: {
          description: 'The profiles, sorted by name',
          schema: z.object({ profiles: z.array(profileView), total: z.int() }),
        },
      },
      handle({ principal }) {
        const all = profiles
          .list()
          .flatMap((profile) => visibleProfile(principal, profile) ?? [])
          .map(toView);
        return { profiles: all, total: all.length };
      },
    }),

    route({
      method: 'GET',
      path: '/api/v1/profiles/{name}',
      tag,
      summary: 'Get a profile',
      role: 'viewer',
      params: byName,
      answers: { 200: { description: 'The profile', schema: profileView }, 404: notFound },
      handle({ params, principal }) {
        const profile = profiles.find(params.name);
        const visible = profile && visibleProfile(principal, profile);
        if (visible === undefined) {
          const names = profiles.list().flatMap((one) => visibleProfile(principal, one)?.name ?? []);
          throw new AppError('NOT_FOUND', `Profile not found: ${params.name}${didYouMean(params.name, names)}`);
        }
        return toView(visible);
      },
    }),

    route({
      method: 'POST',
      path: '/api/v1/profiles/preview',
      tag,
      summary: 'Preview what MCP clients of a profile would see and what that costs, without saving it',
      role: 'viewer',
      // A draft could select tools that the profile of a token leaves out.
      unbound: true,
      body: profileDefinition,
      answers: { 200: { description: 'The list of tools with estimated tokens', schema: previewView } },
      handle: ({ body, principal }) => mcp.previewList(body, principal),
    }),

    route({
      method: 'PUT',
      path: '/api/v1/profiles/{name}',
      tag,
      summary: 'Create or replace a profile',
      role: 'admin',
      unbound: true,
      params: byName,
      body: profileDefinition,
      answers: { 200: { description: 'The profile', schema: profileView } },
      async handle({ params, body, principal, address }) {
        const profile = await profiles.save(params.name, body);
        await audit.recordNow({
          event: 'profile.saved',
          actor: principal.name,
          ip_address: address,
          details: { profile: params.name },
        });
        return toView(profile);
      },
    }),

    route({
      method: 'DELETE',
      path: '/api/v1/profiles/{name}',
      tag,
      summary: 'Remove a profile',
      role: 'admin',
      unbound: true,
      // Any name, so that stored profiles with invalid names can be removed.
      params: z.object({ name: z.string().min(1) }),
      answers: { 204: { description: 'Removed' }, 404: notFound },
      async handle({ params, principal, address, reply }) {
        if (!(await profiles.remove(params.name))) throw new AppError('NOT_FOUND', `Profile not found: ${params.name}`);
        await audit.recordNow({
          event: 'profile.removed',
          actor: principal.name,
          ip_address: address,
          details: { profile: params.name },
        });
        reply.status(204);
      },
    }),
  ];
}

/** The profile of the token, limited to its servers; without one, the profiles that contain only its servers. */
function visibleProfile(principal: Principal, profile: Profile): Profile | undefined {
  const isOwn = (server: string) => maySee(principal, server);
  if (principal.profile !== null) return principal.profile === profile.name ? withinServers(profile, isOwn) : undefined;
  return principal.servers === null || reachesOnly(profile, isOwn) ? profile : undefined;
}
