/** Every route of the REST API and the pages, each with what it needs. */
import type { Profiles } from '../catalog/profiles.ts';
import type { Config } from '../config/config.ts';
import { isLoopback } from '../loopback.ts';
import type { Oauth } from '../oauth/oauth.ts';
import type { ThrottledRequestAuthenticator } from '../security/authentication-throttle.ts';
import type { PageSessions } from '../security/page-session.ts';
import type { AnyRoute } from './route.ts';
import { type AccessRouteDependencies, accessRoutes } from './routes/access.ts';
import { type AccountRouteDependencies, accountRoutes } from './routes/accounts.ts';
import { type ActivityRouteDependencies, activityRoutes } from './routes/activity.ts';
import { type AttentionRouteDependencies, attentionRoutes } from './routes/attention.ts';
import { type BackupRouteDependencies, backupRoutes } from './routes/backup.ts';
import { type CallRouteDependencies, callRoutes } from './routes/calls.ts';
import { type IdentityRouteDependencies, identityRoutes } from './routes/identity.ts';
import { importRoutes } from './routes/import.ts';
import { type KeyRouteDependencies, keyRoutes } from './routes/keys.ts';
import { type MetricsRouteDependencies, metricsRoutes } from './routes/metrics.ts';
import { type OauthRouteDependencies, oauthRoutes } from './routes/oauth.ts';
import { type ProbeRouteDependencies, probeRoutes } from './routes/probes.ts';
import { type ProfileRouteDependencies, profileRoutes } from './routes/profiles.ts';
import { type ProgramSignInRouteDependencies, programSignInRoutes } from './routes/program-sign-in.ts';
import { type QueryRouteDependencies, queryRoutes } from './routes/query.ts';
import { type SearchRouteDependencies, searchRoutes } from './routes/search.ts';
import { type ServerConnectionRouteDependencies, serverConnectionRoutes } from './routes/server-connection.ts';
import { type ServerDiagnosticsRouteDependencies, serverDiagnosticsRoutes } from './routes/server-diagnostics.ts';
import { type ServerToolRouteDependencies, serverToolRoutes } from './routes/server-tools.ts';
import { type ServerRouteDependencies, serverRoutes } from './routes/servers.ts';
import { sessionRoutes } from './routes/session.ts';
import { type StateRouteDependencies, stateRoutes } from './routes/state.ts';
import { type StatsRouteDependencies, statsRoutes } from './routes/stats.ts';
import { type TokenRouteDependencies, tokenRoutes } from './routes/tokens.ts';
import { type ToolChangeRouteDependencies, toolChangeRoutes } from './routes/tool-changes.ts';
import { type ToolListRouteDependencies, toolListRoutes } from './routes/tool-list.ts';
import { toolOverrideRoutes } from './routes/tool-overrides.ts';
import { type ToolRouteDependencies, toolRoutes } from './routes/tools.ts';

type RouteDependencies = AccessRouteDependencies &
  AccountRouteDependencies &
  ActivityRouteDependencies &
  AttentionRouteDependencies &
  CallRouteDependencies &
  Omit<BackupRouteDependencies, 'maxServers' | 'keySource'> &
  IdentityRouteDependencies &
  Omit<KeyRouteDependencies, 'checks' | 'keyLink'> &
  MetricsRouteDependencies &
  ProbeRouteDependencies &
  ProfileRouteDependencies &
  QueryRouteDependencies &
  SearchRouteDependencies &
  ServerRouteDependencies &
  ServerConnectionRouteDependencies &
  ServerToolRouteDependencies &
  ServerDiagnosticsRouteDependencies &
  StateRouteDependencies &
  StatsRouteDependencies &
  Omit<TokenRouteDependencies, 'ownTokenDays'> &
  Pick<ProgramSignInRouteDependencies, 'ownTokens'> &
  ToolListRouteDependencies &
  ToolChangeRouteDependencies &
  ToolRouteDependencies &
  Pick<OauthRouteDependencies, 'throttle' | 'viewOf'> & {
    config: Config;
    oauth: Oauth;
    profiles: Profiles;
    pageSessions: PageSessions;
    requestAuthenticator: ThrottledRequestAuthenticator;
  };

export function createRoutes(deps: RouteDependencies): AnyRoute[] {
  const { config, oauth, pageSessions } = deps;
  return [
    ...oauthRoutes({ ...deps, ...oauth }),
    ...serverRoutes(deps),
    ...serverConnectionRoutes(deps),
    ...serverToolRoutes(deps),
    ...serverDiagnosticsRoutes(deps),
    ...importRoutes({ ...deps, environment: config.environment }),
    ...toolOverrideRoutes(deps),
    ...toolChangeRoutes(deps),
    ...toolRoutes(deps),
    ...queryRoutes(deps),
    ...searchRoutes(deps),
    ...stateRoutes(deps),
    ...probeRoutes(deps),
    ...identityRoutes(deps),
    ...tokenRoutes({ ...deps, ownTokenDays: config.ownTokenDays }),
    ...accountRoutes(deps),
    ...keyRoutes({ ...deps, ...oauth }),
    ...accessRoutes(deps),
    ...programSignInRoutes({ ...deps, ...oauth }),
    ...sessionRoutes({
      ...deps,
      sessions: pageSessions,
      pages: oauth.sessions,
      identityProvider: oauth.identityProvider,
      loopbackListener: isLoopback(config.host),
    }),
    ...activityRoutes(deps),
    ...callRoutes(deps),
    ...statsRoutes(deps),
    ...attentionRoutes(deps),
    ...toolListRoutes(deps),
    ...profileRoutes(deps),
    ...backupRoutes({
      ...deps,
      maxServers: config.maxServers,
      keySource: config.credentialKey === undefined ? 'file' : 'variable',
    }),
    ...metricsRoutes(deps),
  ];
}
