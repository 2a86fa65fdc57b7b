// What goes over the wire, as docs/openapi.yaml has it; only the parts that the page uses. Types, nothing that runs.
// SPDX-License-Identifier: GPL-3.0-or-later

/** In which ways people can sign in. */
export interface LoginWays {
  vcenter: boolean;
  directories: string[];
  kerberos: 'off' | 'button' | 'auto';
}

export interface LoginPasswordRequest {
  username: string;
  password: string;
  source: string;
}

export interface PasswordChange {
  old_password: string;
  new_password: string;
}

export interface Token {
  access_token: string;
  token_type: 'Bearer';
  expires_in: number;
  session_expires_at: string;
}

export type Role = 'admin' | 'user' | 'provisioner' | 'service';

export type Method =
  | 'password' | 'vcenter_password' | 'vcenter_session' | 'vcenter_clone_ticket' | 'socket' | 'kerberos' | 'directory_password' | 'service'
  | 'vcenter_session_key' | 'vcenter_service';

export interface Group {
  id: string;
  name: string | null;
}

export interface Whoami {
  id: string;
  name: string;
  source: 'local' | 'vcenter' | 'socket' | 'directory' | 'service';
  directory: string | null;
  role: Role;
  method: Method;
  groups: Group[];
  must_change_password: boolean;
}

export type ClusterState = 'unknown' | 'creating' | 'ready' | 'updating' | 'degraded' | 'unreachable' | 'failed' | 'deleting';

export interface Replicas {
  ready: number | null;
  desired: number;
}

export interface VsphereCluster {
  vcenter_id: string;
  datacenter: string | null;
  moref: string;
  name: string | null;
}

export interface Placement {
  source: 'declared' | 'observed';
  vsphere_clusters: VsphereCluster[];
  hx_clusters: { id: string; name: string; name_source: 'hx' | 'typed' | 'vcenter'; hx_uuid: string | null }[];
  hidden: number;
}

/** Texts of a cluster that the list shows below its name, in this order. */
export const textsBelowName = ['description'] as const;

export interface Cluster extends Record<(typeof textsBelowName)[number], string | null> {
  id: string;
  name: string;
  state: ClusterState;
  state_reason: string | null;
  state_source: 'declared' | 'reported' | 'observed';
  kubernetes_version: string;
  api_endpoint: string | null;
  dashboard_url: string | null;
  control_plane: Replicas;
  workers: Replicas;
  placement: Placement;
  observed_at: string | null;
}

export interface HxCluster {
  id: string;
  name: string;
  vsphere_cluster: VsphereCluster;
  present: boolean;
}

export interface Vcenter {
  id: string;
  name: string;
  state: 'not_registered' | 'connecting' | 'connected' | 'unreachable' | 'refused';
}

export interface List<T> {
  items: T[];
  next_cursor: string | null;
}

export type SortKey = 'name' | 'state' | 'kubernetes_version';
export type Sort = SortKey | `-${SortKey}`;

export interface ClusterQuery {
  q?: string;
  hx_cluster_id?: string;
  sort?: Sort;
  limit?: number;
  cursor?: string;
}

export type StaleReason = 'database' | 'vcenter' | 'rights';

export interface Problem {
  type: string;
  title: string;
  status: number;
  code: string;
  detail: string;
  request_id: string;
  remedy?: string;
  parameter?: string;
  pointer?: string;
}
