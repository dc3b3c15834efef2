import { readdirSync } from 'node:fs';

/** The limit of file descriptors of this process; undefined if there is none or it is unknown. */
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
    return maxDescriptors(); // no descriptor is left to read the limit
  }
}
