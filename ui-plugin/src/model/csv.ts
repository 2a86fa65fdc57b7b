// The list as a file for spreadsheets (RFC 4180); and the reading of all its rows.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient } from '../api/client.js';
import type { Cluster, ClusterQuery } from '../api/types.js';
import { strings } from '../strings/index.js';
import { describeReason, describeState, hxName, sharedNames } from './format.js';

/** As many as the service gives at once. */
export const EXPORT_PAGE = 500;
/**
 * Where a spreadsheet would find a cell that it takes for a formula and runs: at the beginning, and behind each sign that some spreadsheet takes for the end of
 * a cell or a row whatever we mean by it. Excel divides by `;` in German, and does not see quotation marks that open in the middle of its cell.
 * `=` and its like also as full-width signs. https://owasp.org/www-community/attacks/CSV_Injection
 */
const FORMULA = /((?:^|[;,\t\r\n])["\s]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/g;
/** Without it Excel does not read UTF-8. */
const BYTE_ORDER_MARK = '\ufeff';

export type Cell = string | number | null;

/** Rows that fit `query`, from all pages; `progress` is told how many are there. Throws what the api client throws. */
export async function readAll(
  api: Pick<ApiClient, 'listClusters'>, query: ClusterQuery, progress: (done: number, total: number) => void, signal: AbortSignal,
): Promise<Cluster[]> {
  const rows: Cluster[] = [];
  const asked: ClusterQuery = { ...query, limit: EXPORT_PAGE };
  delete asked.offset;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const { body } = await api.listClusters(cursor === undefined ? asked : { ...asked, cursor }, null, signal);
    rows.push(...(body?.items ?? []));
    progress(rows.length, body?.total ?? rows.length);
    cursor = body?.next_cursor ?? null;
  }
  return rows;
}

/** The file: a head in the reader's language, and a line for each cluster. */
export function clustersToCsv(clusters: readonly Cluster[]): string {
  const head = Object.values(strings.table.csv);
  const shared = sharedNames(clusters.flatMap(({ placement }) => placement.hx_clusters));
  return toCsv([head, ...clusters.map((cluster) => rowOf(cluster, shared))]);
}

export function toCsv(rows: readonly (readonly Cell[])[]): string {
  return BYTE_ORDER_MARK + rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

/** In the order of `strings.table.csv`. */
function rowOf(cluster: Cluster, shared: ReadonlySet<string>): Cell[] {
  const { control_plane, workers, placement } = cluster;
  return [
    cluster.name, cluster.description, describeState(cluster.state).word, describeReason(cluster.state_reason), cluster.kubernetes_version,
    control_plane.ready, control_plane.desired, workers.ready, workers.desired,
    placement.hx_clusters.map((hx) => hxName(hx, shared)).join('; '),
    placement.vsphere_clusters.map(({ datacenter, name, moref }) => strings.table.vsphere(datacenter, name, moref)).join('; '),
    cluster.api_endpoint, cluster.dashboard_url,
    Object.entries(cluster.labels).map(([key, value]) => `${key}=${value}`).join('; '),
    cluster.created_at, cluster.updated_at, cluster.id,
  ];
}

function cell(value: Cell): string {
  if (value === null) return '';
  const text = typeof value === 'string' ? value.replace(FORMULA, "$1'") : String(value);
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
