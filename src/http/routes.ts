/** Every route of the REST API and the pages, each with what it needs. */
import type { Profiles } from '../catalog/profiles.ts';
import type { Config } from '../config/config.ts';
import { isLoopback } from '../loopback.ts';
import type { Oauth } from '../oauth/oauth.ts';
import type { ThrottledRequestAuthenticator } from '../security/authentication-throttle.ts';
import type { PageSessions } from '../security/page-session.ts';
import type { AnyRoute } from './route.ts';
import { type AccessRouteDependencies, accessRoutes } from './routes/access.ts';
import { type ActivityRouteDependencies, activityRoutes } from './routes/activity.ts';
import { type BackupRouteDependencies, backupRoutes } from './routes/backup.ts';
import { importRoutes } from './routes/import.ts';
import { type MetricsRouteDependencies, metricsRoutes } from './routes/metrics.ts';
import { type OauthRouteDependencies, oauthRoutes } from './routes/oauth.ts';
import { profileRoutes } from './routes/profiles.ts';
import { type QueryRouteDependencies, queryRoutes } from './routes/query.ts';
import { type SearchRouteDependencies, searchRoutes } from './routes/search.ts';
import { type ServerRouteDependencies, serverRoutes } from './routes/servers.ts';
import { sessionRoutes } from './routes/session.ts';
import { type StateRouteDependencies, stateRoutes } from './routes/state.ts';
import { type ToolChangeRouteDependencies, toolChangeRoutes } from './routes/tool-changes.ts';
import { type ToolRouteDependencies, toolRoutes } from './routes/tools.ts';

type RouteDependencies = AccessRouteDependencies &
  ActivityRouteDependencies &
  Omit<BackupRouteDependencies, 'maxServers'> &
  MetricsRouteDependencies &
  QueryRouteDependencies &
  SearchRouteDependencies &
  ServerRouteDependencies &
  StateRouteDependencies &
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
    ...importRoutes({ ...deps, environment: config.environment }),
    ...toolChangeRoutes(deps),
    ...toolRoutes(deps),
    ...queryRoutes(deps),
    ...searchRoutes(deps),
    ...stateRoutes(deps),
    ...accessRoutes(deps),
    ...sessionRoutes({
      ...deps,
      sessions: pageSessions,
      pages: oauth.sessions,
      identityProvider: oauth.identityProvider,
      loopbackListener: isLoopback(config.host),
    }),
    ...activityRoutes(deps),
    ...profileRoutes(deps),
    ...backupRoutes({ ...deps, maxServers: config.maxServers }),
    ...metricsRoutes(deps),
  ];
}
