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
