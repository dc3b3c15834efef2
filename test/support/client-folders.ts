/** Where MCP clients keep their files below the home directory, on the platform of the test. */
const settings: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'Library/Application Support',
  win32: 'AppData/Roaming',
};
const zed: Partial<Record<NodeJS.Platform, string>> = { win32: 'AppData/Roaming/Zed' };

export const settingsFolder = settings[process.platform] ?? '.config';
export const zedFolder = zed[process.platform] ?? '.config/zed';
