{{- define "mcp-aggregator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "mcp-aggregator.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 57 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 57 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 57 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "mcp-aggregator.selector" -}}
app.kubernetes.io/name: {{ include "mcp-aggregator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mcp-aggregator.labels" -}}
{{ include "mcp-aggregator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "mcp-aggregator.secret" -}}
{{- default (include "mcp-aggregator.fullname" .) .Values.secret.name }}
{{- end }}

{{- define "mcp-aggregator.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "mcp-aggregator.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "mcp-aggregator.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- /* The host of the public URL, without the port. */ -}}
{{- define "mcp-aggregator.publicHost" -}}
{{- with .Values.publicUrl }}
{{- (urlParse .).hostname }}
{{- end }}
{{- end }}

{{- define "mcp-aggregator.ingressHost" -}}
{{- required "ingress.enabled needs publicUrl or ingress.host" (default (include "mcp-aggregator.publicHost" .) .Values.ingress.host) }}
{{- end }}
