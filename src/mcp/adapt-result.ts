/** Results and errors as a client of one revision may see them. */
import { listMethods } from '../catalog/discover.ts';
import { AppError, RpcError } from '../errors.ts';
import { parseJson } from '../exact-json.ts';
import { hopMeta, isObject, type JsonObject, type RequestId, type RpcFailure, rpcCodes } from '../json-rpc.ts';
import { type MemberChanges, RawResult, type Result } from '../raw-result.ts';
import type { Peer } from './peer.ts';

/** Results that a client may keep for a while (2026-07-28, caching). */
/** The extension asks for them in every revision. */
const skillMethods = ['skills/list', 'skills/get', 'resources/directory/read'];
const cacheable = new Set(['server/discover', ...listMethods, 'resources/read', ...skillMethods]);

const hopKeys = new Set<string>(Object.values(hopMeta));

export function adaptResult(peer: Peer, method: string, result: Result, ourInfo: JsonObject): Result {
  if (result instanceof RawResult) return adaptRawResult(peer, method, result, ourInfo);
  if (peer.era === 'modern') return toModern(method, result, ourInfo);
  const adapted = toLegacy(result, peer.protocolVersion);
  return skillMethods.includes(method)
    ? { ttlMs: 0, cacheScope: 'private', ...adapted, ...cacheHintsOf(result) }
    : adapted;
}

function cacheHintsOf({ ttlMs, cacheScope }: JsonObject): JsonObject {
  return typeof ttlMs === 'number' && typeof cacheScope === 'string' ? { ttlMs, cacheScope } : {};
}

/** The same, but that what stays as it is goes through as it came. */
function adaptRawResult(peer: Peer, method: string, result: RawResult, ourInfo: JsonObject): Result {
  if (peer.era === 'modern') return rawToModern(method, result, ourInfo);
  const version = peer.protocolVersion;
  return version < contentSince ? toLegacy(result.toObject(), version) : rawToLegacy(result);
}

function rawToModern(method: string, result: RawResult, ourInfo: JsonObject): RawResult {
  const changes: MemberChanges = { _meta: metaWithInfo(result.text('_meta'), ourInfo) };
  const type = result.read('resultType');
  if (type === undefined) changes.resultType = '"complete"';
  if (type === undefined || type === 'complete') {
    if (cacheable.has(method)) {
      if (!result.has('ttlMs')) changes.ttlMs = '0';
      if (!result.has('cacheScope')) changes.cacheScope = '"private"';
    }
  }
  return result.withChanges(changes);
}

/** Most results of a server have the same `_meta`, so the latest one is remembered. */
let latestMeta: { given: string | undefined; info: JsonObject; json: string } | undefined;

const maxRememberedMeta = 1_000;

function metaWithInfo(given: string | undefined, info: JsonObject): string {
  if (latestMeta?.given === given && latestMeta?.info === info) return latestMeta.json;
  const parsed = given === undefined ? undefined : parseJson(given);
  const json = JSON.stringify({ ...(isObject(parsed) ? parsed : {}), [hopMeta.serverInfo]: info });
  if (json.length <= maxRememberedMeta) latestMeta = { given, info, json };
  return json;
}

function rawToLegacy(result: RawResult): RawResult {
  const changes: MemberChanges = {};
  if (result.has('resultType')) for (const name of modernMembers) if (result.has(name)) changes[name] = undefined;
  const meta = result.read('_meta');
  if (isObject(meta) && Object.keys(meta).some((key) => hopKeys.has(key))) {
    const kept = withoutHopKeys(meta);
    changes._meta = Object.keys(kept).length > 0 ? JSON.stringify(kept) : undefined;
  }
  const structured = result.text('structuredContent');
  if (structured !== undefined && !structured.startsWith('{')) changes.structuredContent = `{"result":${structured}}`;
  return Object.keys(changes).length === 0 ? result : result.withChanges(changes);
}

function toModern(method: string, result: JsonObject, ourInfo: JsonObject): JsonObject {
  const meta: JsonObject = isObject(result._meta) ? { ...result._meta } : {};
  // Not in a literal: for a computed name in one, V8 leaves optimised code with every result.
  meta[hopMeta.serverInfo] = ourInfo;
  const complete = { ...result, resultType: result.resultType ?? 'complete', _meta: meta };
  // What a server of the old era says about caching is nothing, which means: do not.
  return cacheable.has(method) && complete.resultType === 'complete'
    ? { ttlMs: 0, cacheScope: 'private', ...complete }
    : complete;
}

function toLegacy(result: JsonObject, version: string): JsonObject {
  const plain = result.resultType === undefined ? { ...result } : withoutModernMembers(result);
  if (isObject(plain._meta) && Object.keys(plain._meta).some((key) => hopKeys.has(key))) {
    const kept = withoutHopKeys(plain._meta);
    if (Object.keys(kept).length > 0) plain._meta = kept;
    else delete plain._meta;
  }
  // Only objects were allowed before 2026-07-28.
  if (plain.structuredContent !== undefined && !isObject(plain.structuredContent)) {
    plain.structuredContent = { result: plain.structuredContent };
  }
  if (version < contentSince) {
    if (Array.isArray(plain.content)) plain.content = plain.content.map((part) => olderContent(part, version));
    if (Array.isArray(plain.messages)) plain.messages = plain.messages.map((message) => olderMessage(message, version));
  }
  return plain;
}

function withoutModernMembers({ resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...rest }: JsonObject): JsonObject {
  return rest;
}

const modernMembers = ['resultType', 'ttlMs', 'cacheScope'];

/** The revision that has all types of content. */
const contentSince = '2025-06-18';

function withoutHopKeys(meta: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !hopKeys.has(key)));
}

/** Old clients fail on content types that they do not know; what it was about still reaches the model as text. */
function olderContent(part: unknown, version: string): unknown {
  if (!isObject(part)) return part;
  if (part.type === 'resource_link') {
    return { type: 'text', text: `${part.title ?? part.name ?? 'resource'}: ${part.uri}` };
  }
  if (part.type === 'audio' && version < '2025-03-26') return { type: 'text', text: `[audio, ${part.mimeType}]` };
  return part;
}

/** One of a prompt's. */
function olderMessage(message: unknown, version: string): unknown {
  return isObject(message) ? { ...message, content: olderContent(message.content, version) } : message;
}

/** A tool's definition for clients that know only objects as structured results. */
export function adaptTool(peer: Peer, definition: JsonObject): JsonObject {
  const offered = withoutTasks(definition);
  const schema = offered.outputSchema;
  if (peer.era === 'modern' || !isObject(schema) || schema.type === 'object') return offered;
  return { ...offered, outputSchema: { type: 'object', properties: { result: schema }, required: ['result'] } };
}

/** The tasks of 2025-11-25 do not pass: a tool that requires one is called without (`routing/required-task`). */
function withoutTasks(definition: JsonObject): JsonObject {
  if (definition.execution === undefined) return definition;
  const { execution: _execution, ...rest } = definition;
  return rest;
}

/** The one translation of everything thrown into JSON-RPC. */
export function toFailure(id: RequestId | null, thrown: unknown, era: Peer['era']): RpcFailure {
  return { jsonrpc: '2.0', id, error: toError(thrown, era) };
}

const ofOurHop = new Set<number>([rpcCodes.headerMismatch, rpcCodes.unsupportedVersion]);

function toError(thrown: unknown, era: Peer['era']): RpcFailure['error'] {
  if (thrown instanceof ProtocolError) {
    return { code: thrown.code, message: thrown.message, ...(thrown.data === undefined ? {} : { data: thrown.data }) };
  }
  if (thrown instanceof RpcError) {
    if (ofOurHop.has(thrown.code))
      return { code: rpcCodes.internalError, message: `The server rejected the request: ${thrown.message}` };
    const code = era === 'modern' && thrown.code === rpcCodes.resourceNotFound ? rpcCodes.invalidParams : thrown.code;
    return { code, message: thrown.message, ...(thrown.data === undefined ? {} : { data: thrown.data }) };
  }
  if (thrown instanceof AppError) {
    const code = thrown.code === 'RESOURCE_NOT_FOUND' && era === 'legacy' ? rpcCodes.resourceNotFound : thrown.rpcCode;
    return { code, message: thrown.message, data: { error_code: thrown.code, ...thrown.context, ...thrown.body } };
  }
  return { code: rpcCodes.internalError, message: 'Internal error in the aggregator; see its log for details' };
}

/** An error of this endpoint's own, not one that a server answered with. */
export class ProtocolError extends RpcError {
  readonly status: number | undefined;

  constructor(code: number, message: string, options: { data?: unknown; status?: number } = {}) {
    super(code, message, options.data);
    this.status = options.status;
  }
}

/** 2026-07-28 has an error for what a client would have to declare. */
export function missingCapability(message: string, requiredCapabilities: JsonObject): ProtocolError {
  return new ProtocolError(rpcCodes.missingClientCapability, message, { status: 400, data: { requiredCapabilities } });
}
