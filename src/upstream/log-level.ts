/** Log levels: a legacy server has one for each session, which is set to the lowest that a client of the session asked for. */
import { RpcError } from '../errors.ts';
import { ConnectionLost, type Session, type SessionRequest } from './session.ts';

export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** The session sets its level before the first call of a client that asked for a lower one. */
export function withLogLevel(session: Session): Session {
  if (session.era !== 'legacy' || session.capabilities.logging === undefined) return session;
  let current = logLevels.length;
  let { generation } = session;

  async function relayAtLevel(request: SessionRequest, level: string) {
    try {
      await session.request('logging/setLevel', { level }, { signal: request.signal });
    } catch (error) {
      // A server that refuses has its own idea of levels: no reason to fail the call.
      if (!(error instanceof RpcError)) {
        current = logLevels.length;
        throw error instanceof ConnectionLost ? new ConnectionLost(error.message, 'no', error) : error;
      }
    }
    return await session.relay(request);
  }

  function relay(request: SessionRequest) {
    const level = request.caller?.client?.logLevel;
    if (level === undefined) return session.relay(request);
    if (session.generation !== generation) current = logLevels.length;
    generation = session.generation;
    const wanted = logLevels.indexOf(level);
    if (wanted >= current) return session.relay(request);
    current = wanted;
    return relayAtLevel(request, level);
  }

  return Object.create(session, { relay: { value: relay } });
}
