// Who may see a cluster: why the viewer does, and the grants, for who may know them.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Grant, SightRule } from '../api/types.js';
import type { Access } from '../model/cluster-detail.js';
import { absoluteTime } from '../model/format.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { cardStyles, tableStyles } from '../styles/table.js';

@customElement('kaas-cluster-access')
export class ClusterAccess extends LitElement {
  static override styles = [shared, tableStyles, cardStyles, css`
    :host { display: grid; gap: var(--space-4); }
    h2 { padding: var(--space-3) var(--space-4) 0; }
    ul { margin: 0; padding: var(--space-2) var(--space-4) var(--space-4) var(--space-6); }
    .none { padding: var(--space-2) var(--space-4) var(--space-4); }
    table { margin-top: var(--space-2); }
    bdi { overflow-wrap: anywhere; }
  `];

  @property({ attribute: false }) access!: Access;

  override render() {
    const { explanation, grants } = this.access;
    const rules = explanation.rules.filter(({ matched }) => matched !== false);
    return html`<section class="card"><h2>${strings.detail.why}</h2>
        ${rules.length > 0 ? html`<ul>${rules.map((rule) => html`<li><bdi>${ruleText(rule)}</bdi></li>`)}</ul>` : html`<p class="soft none">${strings.detail.whyNot}</p>`}
      </section>
      ${grants && grants.length > 0 ? this.renderGrants(grants) : nothing}`;
  }

  private renderGrants(grants: readonly Grant[]) {
    const { who, role, on, since } = strings.detail.grant;
    return html`<section class="card"><h2 id="grants">${strings.detail.grants}</h2><table role="table" aria-labelledby="grants">
      <thead role="rowgroup"><tr role="row">${[who, role, on, since].map((text) => html`<th scope="col" role="columnheader">${text}</th>`)}</tr></thead>
      <tbody role="rowgroup">${grants.map((grant) => html`<tr role="row">
        <th scope="row" role="rowheader" class="name"><bdi title=${grant.principal_id}>${grant.principal_name ?? grant.principal_id}</bdi></th>
        ${[[role, strings.detail.grantRole[grant.role]], [on, strings.detail.on[grant.object_kind](grant.object_name ?? '')], [since, absoluteTime(grant.created_at)]]
          .map(([label, text]) => html`<td role="cell"><span class="label" aria-hidden="true">${label}</span><div class="value"><bdi>${text}</bdi></div></td>`)}
      </tr>`)}</tbody>
    </table></section>`;
  }
}

function ruleText({ kind, object_type, object_name, principal_name, matched }: SightRule): string {
  const text = strings.detail.rule[kind](strings.detail.on[object_type](object_name ?? ''), principal_name ?? '');
  return matched === null ? `${strings.detail.unknownRule} ${text}` : text;
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-cluster-access': ClusterAccess;
  }
}
