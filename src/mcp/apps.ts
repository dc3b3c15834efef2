/** MCP Apps (SEP-1865): tools with a user interface, which is a resource of their server. */
import { isObject, type JsonObject } from '../json-rpc.ts';

const appsExtension = 'io.modelcontextprotocol/ui';
/** Before the extension was final. */
const earlierMember = 'ui/resourceUri';

export function hasApps({ extensions }: JsonObject): boolean {
  return isObject(extensions) && extensions[appsExtension] !== undefined;
}

export function isApp({ _meta: meta }: JsonObject): boolean {
  if (!isObject(meta)) return false;
  return typeof meta[earlierMember] === 'string' || (isObject(meta.ui) && typeof meta.ui.resourceUri === 'string');
}

/** The definition with the address under which clients find the resource. */
export function withAppAddress(definition: JsonObject, addressOf: (uri: string) => string): JsonObject {
  const { _meta: meta } = definition;
  if (!isApp(definition) || !isObject(meta)) return definition;
  const shown = { ...meta };
  if (typeof meta[earlierMember] === 'string') shown[earlierMember] = addressOf(meta[earlierMember]);
  if (isObject(meta.ui) && typeof meta.ui.resourceUri === 'string')
    shown.ui = { ...meta.ui, resourceUri: addressOf(meta.ui.resourceUri) };
  return { ...definition, _meta: shown };
}
