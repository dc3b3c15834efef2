/** Kubernetes' own description of its objects, as strict JSON Schemas: a field that it does not know is an error. */
import { Ajv, type ValidateFunction } from 'ajv';

type Json = Record<string, unknown>;

export interface Manifest extends Json {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}

export interface KubernetesSchemas {
  /** What is wrong with a manifest; empty if nothing is. */
  problemsOf(manifest: Manifest): string[];
}

interface Swagger {
  definitions: Record<string, Json & { 'x-kubernetes-group-version-kind'?: GroupVersionKind[] }>;
}

interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

interface CustomResourceDefinition {
  spec: { group: string; names: { kind: string }; versions: { name: string; schema: { openAPIV3Schema: Json } }[] };
}

/** `swagger`: api/openapi-spec/swagger.json of Kubernetes. */
export function createKubernetesSchemas(
  swagger: Swagger,
  custom: readonly CustomResourceDefinition[],
): KubernetesSchemas {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true, logger: false });
  const definitions = Object.fromEntries(
    Object.entries(swagger.definitions).map(([name, schema]) => [name, toStrict(schema, name)]),
  );
  ajv.addSchema({ $id: 'kubernetes', definitions });
  const references = new Map<string, string>();
  for (const [name, schema] of Object.entries(swagger.definitions)) {
    for (const { group, version, kind } of schema['x-kubernetes-group-version-kind'] ?? [])
      references.set(`${group === '' ? version : `${group}/${version}`} ${kind}`, `kubernetes#/definitions/${name}`);
  }
  for (const { spec } of custom) {
    for (const { name, schema } of spec.versions) {
      const key = `${spec.group}/${name} ${spec.names.kind}`;
      ajv.addSchema({ ...(toStrict(schema.openAPIV3Schema, '') as Json), $id: key.replaceAll(/[ /]/g, '-') });
      references.set(key, key.replaceAll(/[ /]/g, '-'));
    }
  }
  const compiled = new Map<string, ValidateFunction>();

  return {
    problemsOf(manifest) {
      const key = `${manifest.apiVersion} ${manifest.kind}`;
      const reference = references.get(key);
      if (reference === undefined) return [`${key} is unknown to this version of Kubernetes`];
      const validate = compiled.get(key) ?? ajv.compile({ $ref: reference });
      compiled.set(key, validate);
      const isValid: boolean = validate(manifest);
      if (isValid) return [];
      return (validate.errors ?? []).map(({ instancePath, message = '', params }) => {
        const extra = 'additionalProperty' in params ? ` (${params.additionalProperty})` : '';
        return `${manifest.kind} ${manifest.metadata.name}${instancePath} ${message}${extra}`;
      });
    },
  };
}

/** From the dialects of OpenAPI that Kubernetes uses. */
function toStrict(schema: unknown, name: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => toStrict(item, ''));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { format, nullable, ...rest } = schema as Json;
  if (name === 'io.k8s.apimachinery.pkg.api.resource.Quantity') return { type: ['string', 'number'] };
  if (format === 'int-or-string' || rest['x-kubernetes-int-or-string'] === true) return { type: ['integer', 'string'] };
  const properties = rest.properties as Json | undefined;
  const strict: Json = {
    ...Object.fromEntries(
      Object.entries(rest)
        .filter(([key]) => key !== 'description' && key !== 'properties')
        .map(([key, value]) => [
          key,
          key === '$ref' ? String(value).replace('#/', 'kubernetes#/') : toStrict(value, ''),
        ]),
    ),
  };
  if (properties !== undefined) {
    strict.properties = Object.fromEntries(
      Object.entries(properties).map(([key, value]) => [key, toStrict(value, '')]),
    );
    if (rest.additionalProperties === undefined && rest['x-kubernetes-preserve-unknown-fields'] !== true)
      strict.additionalProperties = false;
  }
  if (nullable === true && typeof strict.type === 'string') strict.type = [strict.type, 'null'];
  return strict;
}
