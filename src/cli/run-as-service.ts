/** Makes the aggregator a service of its user, at the address that its clients know. */
import { choosePort, ensureRunning, findRunning, stopRunning } from './background.ts';
import { installService, requireInstallable, serviceOf } from './service.ts';
import type { ServiceDefinition } from './service-definition.ts';
import { dataDirOf, type Target, type TargetFlags } from './target.ts';

/** What would be installed now. */
export async function planService(flags: TargetFlags, environment: NodeJS.ProcessEnv): Promise<ServiceDefinition> {
  const running = await findRunning(flags, environment);
  const dataDir = dataDirOf(flags, environment);
  const port = running === undefined ? await choosePort(dataDir, environment) : Number(new URL(running.url).port);
  return serviceOf(dataDir, environment, port === undefined ? [] : ['--port', String(port)]);
}

export async function runAsService(
  flags: TargetFlags,
  environment: NodeJS.ProcessEnv,
): Promise<{ service: ServiceDefinition; target: Target }> {
  const service = await planService(flags, environment);
  requireInstallable(service, environment);
  // The data directory has one owner.
  const wasRunning = await stopRunning(flags, environment);
  try {
    installService(service, dataDirOf(flags, environment), environment);
  } catch (error) {
    if (wasRunning) await ensureRunning(flags, environment);
    throw error;
  }
  return { service, target: await ensureRunning(flags, environment) };
}
