// The nodes of a cluster: what is said of each, and what vCenter shows of it.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { ClusterUsage, Node } from '../api/types.js';
import { NODE_TONE, absoluteTime, formatBytes, formatMhz, nodeState, relativeTime, safeHttpsUrl, vsphereName } from '../model/format.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { cardStyles, tableStyles } from '../styles/table.js';
import { toneStyles } from '../styles/tone.js';
import { share } from './bar.js';
import { notKnown } from './dash.js';
import './empty.js';
import { externalIcon, infoIcon, toneIcon } from './icons.js';

type NodeColumn = keyof typeof strings.detail.node;
const COLUMNS: readonly NodeColumn[] = ['name', 'state', 'vm', 'host', 'cpu', 'memory', 'disk'];
/** From here on it is worth a look. */
const FULL = 0.9;

@customElement('kaas-node-table')
export class NodeTable extends LitElement {
  static override styles = [shared, toneStyles, tableStyles, cardStyles, css`
    .badge { display: inline-flex; align-items: center; gap: var(--space-2); font-weight: 600; white-space: nowrap; }
    .more { padding: var(--space-3) var(--space-4); }
    bdi { overflow-wrap: anywhere; }
    .share { display: block; margin-bottom: var(--space-half); }
    .amount { white-space: nowrap; font-size: var(--type-small); font-variant-numeric: tabular-nums; }
    tbody .name { width: 18%; }
    /* A narrow frame takes its room from amounts, which may be of two lines, not from the names of hosts. */
    @media (min-width: 761px) and (max-width: 1100px) { tbody td:nth-child(4) { min-width: 18ch; } }
    @media (min-width: 761px) and (max-width: 1000px) {
      .amount { white-space: normal; }
      .share { width: 64px; }
    }
    .mark { display: flex; align-items: start; gap: var(--space-1); font-weight: 600; }
    .mark svg { width: 12px; height: 12px; margin-top: var(--space-half); }
    .machine { display: inline-flex; align-items: center; gap: var(--space-1); min-height: var(--target); }
    .machine bdi { min-width: 0; }
    .machine svg { flex: none; width: 12px; height: 12px; }
  `];

  @property() clusterName = '';
  @property({ attribute: false }) nodes: readonly Node[] = [];
  @property({ type: Number }) hiddenNodes = 0;
  /** As many as the cluster is said to have. */
  @property({ type: Number }) toldNodes = 0;
  /** 'unknown': nobody tells; null: not known yet. */
  @property({ attribute: false }) usage: ClusterUsage | 'unknown' | null = null;

  override render() {
    const found = this.nodes.length + this.hiddenNodes;
    const lacking = !this.isAsked && found < this.toldNodes ? html`<p class="soft more">${strings.detail.nodesFound(found, this.toldNodes)}</p>` : nothing;
    const more = [lacking, this.hiddenNodes > 0 ? html`<p class="soft more">${strings.detail.hiddenNodes(this.hiddenNodes)}</p>` : nothing,
      this.isSilent && this.nodes.length > 0 ? html`<p class="soft more" role="status">${strings.detail.usageUnknown}</p>` : nothing];
    if (this.nodes.length === 0) return html`<div class="card">${this.hiddenNodes > 0 ? more : html`<kaas-empty heading=${strings.detail.noNodes} text=${this.toldNodes > 0 ? strings.detail.nodesFound(0, this.toldNodes) : ''}></kaas-empty>`}</div>`;
    return html`<div class="card"><table role="table">
      <caption class="sr-only">${strings.detail.nodesLabel(this.clusterName)}</caption>
      <thead role="rowgroup"><tr role="row">${COLUMNS.map((column) => html`<th scope="col" role="columnheader">${strings.detail.node[column]}</th>`)}</tr></thead>
      <tbody role="rowgroup">${this.nodes.map((node) => this.row(node))}</tbody>
    </table>${more}</div>`;
  }

  private row(node: Node) {
    const under = [strings.detail.nodeRole[node.role], node.address].filter((text) => text !== null);
    const state = nodeState(node);
    return html`<tr role="row">
      <th scope="row" role="rowheader" class="name"><bdi>${node.name}</bdi><span class="soft sub">${under.join(' · ')}</span></th>
      ${this.cell('state', html`<span class="badge ${NODE_TONE[state]}">${toneIcon[NODE_TONE[state]]}${strings.detail.nodeState[state]}</span>${this.inKubernetes(node)}`)}
      ${this.cell('vm', html`${machine(node)}${sub(vmWord(node))}`)}
      ${this.cell('host', html`${two(node.host?.name ?? node.host?.moref ?? null, node.host ? strings.detail.connection[node.host.connection] : '')}${sub(node.vsphere_cluster && vsphereName(node.vsphere_cluster))}`)}
      ${this.usageCells(node)}
    </tr>`;
  }

  /** In the place of what the record says. */
  private inKubernetes({ kubernetes, kubernetes_version }: Node) {
    if (!kubernetes) return html`${sub(kubernetes_version)}${sub(this.isAsked ? strings.detail.notInKubernetes : null)}`;
    const { ready, reason, since, cordoned, pressure, version } = kubernetes;
    const why = ready !== true && reason ? ` (${reason})` : '';
    return html`<span class="soft sub">${strings.detail.inKubernetes(ready)}<bdi>${why}</bdi>${since ? html`<time class="sub" datetime=${since} title=${absoluteTime(since)}>${strings.detail.changedAt(relativeTime(since, Date.now()))}</time>` : nothing}</span>
      ${cordoned ? html`<span class="sub mark neutral">${infoIcon}<span>${strings.detail.cordoned}</span></span>` : nothing}
      ${pressure.map((condition) => html`<span class="sub mark warning">${toneIcon.warning}<span>${strings.detail.pressure[condition] ?? condition}</span></span>`)}${sub(version)}`;
  }

  /** Kubernetes tells of nodes: it knows which there are. */
  private get isAsked(): boolean {
    return this.nodes.some((node) => node.kubernetes);
  }

  private get isSilent(): boolean {
    return this.usage === 'unknown' || (this.usage !== null && this.usage.silent_vcenters.length > 0);
  }

  private usageCells(node: Node) {
    const usage = this.usage === 'unknown' ? undefined : this.usage?.items.find((item) => item.node_id === node.id);
    return [
      this.cell('cpu', measure(usage?.cpu_used_mhz, usage?.cpu_mhz, formatMhz, usage?.cpu_count ? strings.detail.cpus(usage.cpu_count) : null)),
      this.cell('memory', measure(usage?.memory_used_bytes, usage?.memory_bytes, formatBytes, null)),
      this.cell('disk', measure(usage?.disk_used_bytes, usage?.disk_bytes, formatBytes, usage?.datastores.join(', ') ?? null)),
    ];
  }

  private cell(column: NodeColumn, content: TemplateResult) {
    return html`<td role="cell"><span class="label" aria-hidden="true">${strings.detail.node[column]}</span><div class="value">${content}</div></td>`;
  }
}

/** Its name, which leads to it in the vSphere Client. */
function machine({ vm, vm_name }: Node): TemplateResult {
  const name = vm?.name ?? vm_name;
  const href = safeHttpsUrl(vm?.client_url ?? null);
  if (!name || !href) return html`<bdi>${name ?? notKnown()}</bdi>`;
  return html`<a class="machine" href=${href} @click=${(event: Event) => offerVm(event, href)} target="_blank" rel="noopener noreferrer"><bdi>${name}</bdi><span class="sr-only">${strings.detail.inClient}</span>${externalIcon}</a>`;
}

/** Who shows machines in another way takes the event; else it is a link as any. */
function offerVm(event: Event, href: string): void {
  const offer = new CustomEvent<string>('kaas-open-vm', { detail: href, bubbles: true, composed: true, cancelable: true });
  if (!event.currentTarget?.dispatchEvent(offer)) event.preventDefault();
}

function vmWord({ vm }: Node): string {
  if (!vm) return '';
  if (vm.match === 'none') return strings.detail.vmGone;
  return vm.match === 'mismatch' ? strings.detail.vmOther : strings.detail.power[vm.power];
}

/** How much of what there is, as a bar and in words; either may not be known. */
function measure(used: number | null | undefined, all: number | null | undefined, format: (value: number) => string, more: string | null): TemplateResult {
  const bar = used != null && all ? html`<span class=${used / all >= FULL ? 'warning' : 'busy'}>${share(used, all)}</span>` : nothing;
  return html`${bar}<span class="amount">${amount(used, all, format)}</span>${sub(more)}`;
}

function amount(used: number | null | undefined, all: number | null | undefined, format: (value: number) => string) {
  if (used == null) return all == null ? notKnown() : format(all);
  return all == null ? strings.detail.used(format(used)) : strings.detail.usedOf(format(used), format(all));
}

function two(first: string | null, second: string): TemplateResult {
  return html`<bdi>${first ?? notKnown()}</bdi>${sub(second)}`;
}

function sub(text: string | null) {
  return text ? html`<bdi class="soft sub">${text}</bdi>` : nothing;
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-node-table': NodeTable;
  }
}
