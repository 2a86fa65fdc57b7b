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

/** What the publisher's signed release file says. */
export interface AvailableVersion {
  version: string;
  released_at: string;
  notes: string[];
  notes_url: string | null;
  steps: string[];
}

export interface Updates {
  version: string;
  available: AvailableVersion | null;
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

export interface PlacedHx {
  id: string;
  name: string;
  name_source: 'hx' | 'typed' | 'vcenter';
  hx_uuid: string | null;
  /** Its place in vCenter, `DC0/HX-East`; a service of the version before does not tell. */
  path?: string | null;
}

export interface Placement {
  source: 'declared' | 'observed';
  vsphere_clusters: VsphereCluster[];
  hx_clusters: PlacedHx[];
  hidden: number;
}

/** Texts of a cluster that the list shows below its name, in this order. */
export const textsBelowName = ['description'] as const;

export interface Cluster extends Record<(typeof textsBelowName)[number], string | null> {
  id: string;
  name: string;
  state: ClusterState;
  state_reason: string | null;
  state_source: 'declared' | 'reported' | 'asked' | 'observed';
  state_since: string | null;
  state_by: string | null;
  kubernetes_version: string;
  api_endpoint: string | null;
  dashboard_url: string | null;
  control_plane: Replicas;
  workers: Replicas;
  placement: Placement;
  labels: Record<string, string>;
  created_at: string;
  updated_at: string;
  observed_at: string | null;
}

export type ConnectionState = 'unknown' | 'ok' | 'failing' | 'refused';

export interface HealthReason {
  /** A stable word. */
  reason: string;
  severity: 'info' | 'unknown' | 'warning' | 'error';
  text: string;
  since: string | null;
  remedy: string | null;
}

/** Why a cluster is as it is, as Kubernetes shows it; the worst reason first. */
export interface ClusterHealth {
  /** Null: the service is not connected to the cluster. */
  connection: { state: ConnectionState; since: string | null; reason: string | null; detail: string | null; remedy: string | null } | null;
  reasons: HealthReason[];
}

export type JobState = 'queued' | 'running' | 'undoing' | 'done' | 'failed' | 'canceled';

/** Work of several steps that goes on by itself. */
export interface JobSummary {
  id: string;
  /** A stable word. */
  kind: string;
  title: string;
  object_id: string | null;
  state: JobState;
  reason: string | null;
  remedy: string | null;
  created_by: string | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  cancel_asked: boolean;
}

export interface JobStep {
  number: number;
  /** A stable word of the kind of job. */
  name: string;
  /** Id of what it works on, of a step that there is once for each of several things; the title ends in their name. */
  item: string | null;
  title: string;
  state: 'pending' | 'running' | 'waiting' | 'done' | 'failed' | 'undone';
  started_at: string | null;
  ended_at: string | null;
  percent: number | null;
  reason: string | null;
  remedy: string | null;
}

export interface Job extends JobSummary {
  steps: JobStep[];
}

export interface JobLine {
  seq: number;
  at: string;
  text: string;
}

export interface JobLines {
  state: JobState;
  items: JobLine[];
}

/** What came of one step of connecting a cluster. */
export interface ConnectStep {
  /** A stable word. */
  step: string;
  title: string;
  status: 'ok' | 'warning' | 'failed' | 'skipped';
  finding: string;
  remedy: string | null;
}

export interface ConnectRequest {
  name?: string;
  kubeconfig: string;
  context?: string;
  thumbprint_sha256?: string;
  /** Stops before anything is made. */
  dry_run: boolean;
}

export interface Connected {
  /** Null: nothing was made. */
  cluster_id: string | null;
  steps: ConnectStep[];
}

export type NodeState = 'unknown' | 'ready' | 'not_ready';

/** What Kubernetes says of a node; `ready` null: it does not know either. */
export interface NodeKubernetes {
  ready: boolean | null;
  reason: string | null;
  since: string | null;
  cordoned: boolean;
  version: string | null;
  pressure: ('MemoryPressure' | 'DiskPressure' | 'PIDPressure' | 'NetworkUnavailable')[];
}

export interface Node {
  id: string;
  name: string;
  role: 'control_plane' | 'worker';
  kubernetes_version: string | null;
  address: string | null;
  vm_name: string | null;
  state: NodeState;
  /** Null while the cluster is not connected, and for a node that Kubernetes does not have; a service of the version before does not tell. */
  kubernetes?: NodeKubernetes | null;
  /** client_url: where the vSphere Client shows it; absent where nobody can tell. */
  vm: { name: string | null; power: 'unknown' | 'on' | 'off' | 'suspended'; match: string; client_url?: string } | null;
  host: { moref: string; name: string | null; connection: 'unknown' | 'connected' | 'not_responding' | 'disconnected' } | null;
  vsphere_cluster: VsphereCluster | null;
}

/** What the virtual machine of a node has and uses now; null is what vCenter does not tell. */
export interface NodeUsage {
  node_id: string;
  cpu_count: number | null;
  cpu_mhz: number | null;
  cpu_used_mhz: number | null;
  memory_bytes: number | null;
  memory_used_bytes: number | null;
  disk_bytes: number | null;
  disk_used_bytes: number | null;
  datastores: string[];
}

export interface ClusterUsage {
  items: NodeUsage[];
  /** vCenters that did not answer. */
  silent_vcenters: string[];
}

export interface NodePage extends List<Node> {
  /** How many nodes the viewer may not see. */
  hidden: number;
}

/** A rule by which somebody may see a cluster. */
export interface SightRule {
  kind: 'role' | 'role_mapping' | 'grant' | 'vcenter_privilege' | 'vcenter_admin' | 'service_account';
  object_type: 'all' | 'cluster' | 'vsphere_cluster' | 'hx_cluster';
  object_name: string | null;
  /** Null: not known. */
  matched: boolean | null;
  principal_name: string | null;
}

export interface Explanation {
  rules: SightRule[];
}

export interface Grant {
  id: string;
  principal_id: string;
  principal_name: string | null;
  role: 'viewer' | 'admin';
  object_kind: 'cluster' | 'vsphere_cluster' | 'hx_cluster';
  object_name: string | null;
  created_at: string;
}

export interface AuditEntry {
  id: string;
  at: string;
  action: string;
  principal_id: string | null;
  principal_name: string | null;
  result: string | null;
  reason: string | null;
}

export interface HxCluster {
  id: string;
  name: string;
  hx_uuid: string | null;
  management_address: string | null;
  vsphere_cluster: VsphereCluster;
  present: boolean;
}

/** With what is known of it beside that, for everybody who may see it. */
export interface HxClusterWhole extends HxCluster {
  clusters: ClusterCounts;
  /** Null when it was never read. */
  facts: HxFacts | null;
}

/** What an HX cluster said of itself at `read_at`; words are as HX spells them, null where it does not tell. */
export interface HxFacts {
  read_at: string;
  version: string | null;
  state: string | null;
  resiliency: string | null;
  space: string | null;
  /** Only administrators are told. */
  messages?: string | null;
  capacity_bytes: number | null;
  used_bytes: number | null;
  nodes_configured: number | null;
  nodes_online: number | null;
  alarms: number | null;
}

export interface HxConnection {
  hx_cluster: { id: string };
  status: { state: 'unknown' | 'ok' | 'failing' | 'refused'; checked_at: string | null; detail: string | null; remedy: string | null; facts: HxFacts | null };
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

/** A page, and how many there are on all pages. */
export interface ClusterPage extends List<Cluster> {
  total: number;
}

/** How many clusters fit a filter, and how many of them are in each state. */
export interface ClusterCounts {
  total: number;
  /** As the head of the answer has it. */
  stale?: StaleReason[];
  asOf?: string | null;
  states: Record<ClusterState, number>;
  /** How many of the ready ones somebody has entered as ready, and nothing has confirmed; a service of the version before does not tell. */
  ready_declared?: number;
}

export type SortKey = 'name' | 'state' | 'kubernetes_version' | 'control_plane' | 'workers' | 'hx_cluster' | 'created_at' | 'updated_at';
export type Sort = SortKey | `-${SortKey}`;

/** What lies on one vSphere cluster. */
export interface ClusterScope {
  /** Instance UUID. */
  vcenter: string;
  /** Managed object id. */
  vsphere_cluster: string;
}

/** What a card is about, by managed object id in a vCenter. */
export type CardSubject = NodePlace | { vcenter: string; datacenter: string };
export type HostPlace = { vcenter: string; host: string };
export type NodePlace = { vcenter: string; vm: string } | HostPlace;

/** What becomes of a cluster without a host. */
export interface ClusterImpact {
  cluster: { id: string; name: string };
  verdict: 'loses_quorum' | 'no_quorum' | 'keeps_quorum' | 'workers_only';
  control_plane: { size: number; running: number; left: number; on_host: number };
}

/** A node and the cluster that it is of. */
export type PlacedNode = Node & { cluster: { id: string; name: string } };

export interface ClusterFilter extends Partial<ClusterScope> {
  /** Managed object id, in `vcenter`. */
  datacenter?: string;
  q?: string;
  hx_cluster_id?: string;
  /** By what people call it: name, HX's uuid, address, place in vCenter. */
  hx_cluster?: string;
  /** Only what runs on an HX cluster at all, or only what does not; empty: both. */
  on_hx?: 'true' | 'false' | '';
  /** States, separated by commas. */
  state?: string;
  /** `key=value`. */
  label?: string;
}

export interface ClusterQuery extends ClusterFilter {
  sort?: Sort;
  limit?: number;
  offset?: number;
  cursor?: string;
  /** Empty: the answer shall have a cursor by which the list can be followed. */
  watch?: string;
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
  /** What a name fits, where that is several things. */
  candidates?: { id: string; name: string; path?: string | null }[];
  /** Of connecting a cluster, the failed one among them. */
  steps?: ConnectStep[];
  /** Of a server that nobody vouches for: somebody has to compare it. */
  certificate?: Certificate;
  /** Of a kubeconfig in which one has to be chosen; the first CONTEXTS_MAX. */
  contexts?: string[];
}

export interface Certificate {
  subject: string;
  issuer: string;
  sha256: string;
}
