import { createContext, useContext } from 'react';
import type { Session } from './api.ts';

export const SessionContext = createContext<Session>({
  name: '',
  role: 'viewer',
  servers: null,
  profile: null,
  version: '',
});

export const useSession = () => useContext(SessionContext);
export const useIsAdmin = () => useSession().role === 'admin';

/** An admin whose token is limited to servers or a profile adds none, and changes neither profiles nor connections. */
export const useIsUnboundAdmin = () => {
  const { role, servers, profile } = useSession();
  return role === 'admin' && servers === null && profile === null;
};

/** A token that is limited to servers or a profile is not told who else calls. */
export const useIsBound = () => {
  const { servers, profile } = useSession();
  return servers !== null || profile !== null;
};
