import { readdirSync } from 'node:fs';

/** How many file descriptors this process may have. Undefined where the system has no such limit, or does not tell. */
export function maxDescriptors(): number | undefined {
  if (process.platform === 'win32') return undefined;
  Object.assign(process.report, { excludeNetwork: true }); // it would look up names; not in the types yet
  const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
  const limit = Number(userLimits?.open_files?.soft);
  return Number.isInteger(limit) ? limit : undefined;
}

export function openDescriptors(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return maxDescriptors(); // there is not even one left to look with
  }
}
