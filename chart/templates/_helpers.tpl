{{/* SPDX-License-Identifier: GPL-3.0-or-later */}}
{{- define "kaas.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "kaas.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kaas.labels" -}}
{{ include "kaas.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "kaas.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* What stands before an installation and each upgrade: the Job that brings the schema up to date, and what it needs. */}}
{{- define "kaas.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- define "kaas.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "kaas.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Files of secrets that kaasd reads: name of the file, Secret, key of the Secret. One list for volumes, copies and options. */}}
{{- define "kaas.secretFiles" -}}
{{- with .Values.secrets -}}
{{- $files := list
      (list "master.key" .masterKey "master.key")
      (list "tls.crt" .tls "tls.crt")
      (list "tls.key" .tls "tls.key")
      (list "database.password" .database "password") }}
{{- if .metricsToken }}{{ $files = append $files (list "metrics.token" .metricsToken "token") }}{{ end }}
{{- if .keytab }}{{ $files = append $files (list "keytab" .keytab "keytab") }}{{ end }}
{{- toJson $files }}
{{- end }}
{{- end }}

{{- define "kaas.ownerSecretFiles" -}}
{{- toJson (list (list "database-owner.password" .Values.secrets.databaseOwner "password")) }}
{{- end }}

{{/* Argument: one of the two lists. kubelet's files of a Secret are readable for the group (fsGroup), and kaasd takes no such file: it gets
     copies that are its own, in memory, made by the same image. */}}
{{- define "kaas.copySecrets" -}}
- name: copy-secrets
  image: {{ include "kaas.image" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  command:
    - /usr/bin/install
    - --mode=0400
    - --target-directory=/run/kaas-secrets
    {{- range .files }}
    - /run/kaas-given/{{ index . 0 }}
    {{- end }}
  securityContext:
    {{- include "kaas.containerSecurity" .root | nindent 4 }}
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {memory: 64Mi}
  volumeMounts:
    - {name: given, mountPath: /run/kaas-given, readOnly: true}
    - {name: secrets, mountPath: /run/kaas-secrets}
{{- end }}

{{- define "kaas.secretVolumes" -}}
- name: given
  projected:
    defaultMode: 0440
    sources:
      {{- range .files }}
      - secret:
          name: {{ index . 1 }}
          items: [{key: {{ index . 2 }}, path: {{ index . 0 }}}]
      {{- end }}
- name: secrets
  emptyDir: {medium: Memory, sizeLimit: 4Mi}
{{- end }}

{{/* /etc/kaas. Argument: the root and the name of the ConfigMap with kaasd.yaml. */}}
{{- define "kaas.configVolume" -}}
- name: config
  projected:
    defaultMode: 0444
    sources:
      - configMap: {name: {{ .configMap }}}
      {{- with .root.Values.authorities }}
      - configMap: {name: {{ .database }}, items: [{key: ca.crt, path: database-ca.crt}]}
      {{- if .hx }}
      - configMap: {name: {{ .hx }}, items: [{key: ca.crt, path: hx-ca.crt}]}
      {{- end }}
      {{- if .clients }}
      - configMap: {name: {{ .clients }}, items: [{key: ca.crt, path: clients-ca.crt}]}
      {{- end }}
      {{- if .updates }}
      - configMap: {name: {{ .updates }}, items: [{key: ca.crt, path: updates-ca.crt}, {key: harmony-kaas.pub, path: harmony-kaas.pub}]}
      {{- end }}
      {{- if .revoked }}
      - configMap: {name: {{ .revoked }}, items: [{key: ca.crl, path: clients-ca.crl}]}
      {{- end }}
      {{- end }}
{{- end }}

{{/* kaasd.yaml: the options of values.config, and those that say where things are in the container. */}}
{{- define "kaas.config" -}}
{{- $server := dict "listen" "*:8443" "tls_certificate" "/run/kaas-secrets/tls.crt" "tls_key" "/run/kaas-secrets/tls.key" }}
{{- with .Values.programs }}{{ if .enabled }}{{ $_ := set $server "service_listen" (printf "*:%d" (int .port)) }}{{ end }}{{ end }}
{{- if .Values.authorities.clients }}{{ $_ := set $server "client_ca_file" "/etc/kaas/clients-ca.crt" }}{{ end }}
{{- if .Values.authorities.revoked }}{{ $_ := set $server "client_crl_file" "/etc/kaas/clients-ca.crl" }}{{ end }}
{{- $placed := dict
      "server" $server
      "database" (dict "password_file" "/run/kaas-secrets/database.password" "owner_password_file" "/run/kaas-secrets/database-owner.password"
                       "tls_ca_file" "/etc/kaas/database-ca.crt")
      "secrets" (dict "master_key_file" "/run/kaas-secrets/master.key") }}
{{- if .Values.secrets.metricsToken }}{{ $_ := set $placed "metrics" (dict "token_file" "/run/kaas-secrets/metrics.token") }}{{ end }}
{{- if .Values.secrets.keytab }}{{ $_ := set $placed "auth" (dict "kerberos" (dict "keytab" "/run/kaas-secrets/keytab")) }}{{ end }}
{{- if .Values.authorities.hx }}{{ $_ := set $placed "hx" (dict "ca_file" "/etc/kaas/hx-ca.crt") }}{{ end }}
{{- if .Values.authorities.updates }}{{ $_ := set $placed "updates" (dict "ca_file" "/etc/kaas/updates-ca.crt" "key_file" "/etc/kaas/harmony-kaas.pub") }}{{ end }}
{{- mergeOverwrite (deepCopy .Values.config) $placed | toYaml }}
{{- end }}

{{/* An address or CIDR block of an option of kaasd as a block of a NetworkPolicy. */}}
{{- define "kaas.cidr" -}}
{{ if contains "/" . }}{{ . }}{{ else if contains ":" . }}{{ . }}/128{{ else }}{{ . }}/32{{ end }}
{{- end }}

{{/* Egress to DNS and to the database, which kaasd and the Job need. */}}
{{- define "kaas.egress" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
- to:
    {{- range .Values.networkPolicy.database }}
    - ipBlock: {cidr: {{ include "kaas.cidr" . | quote }}}
    {{- end }}
  ports:
    - {port: {{ .Values.config.database.port | default 3306 | int }}, protocol: TCP}
{{- end }}
