// What the form that connects a cluster makes of what somebody gives and of what the service answers; pure.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ConnectStep } from '../api/types.js';

export type KubeconfigFault = 'missing' | 'too-long' | 'unreadable';

/** As the service counts (docs/openapi.yaml, KubernetesConnect). */
export const KUBECONFIG_BYTES_MAX = 262_144;

export function faultOf(kubeconfig: string): KubeconfigFault | null {
  if (kubeconfig.trim() === '') return 'missing';
  return new TextEncoder().encode(kubeconfig).length > KUBECONFIG_BYTES_MAX ? 'too-long' : null;
}

/** A certificate that no CA speaks for: somebody has to compare it. */
export interface UnknownCertificate {
  sha256: string;
  /** Whose it is, and who issued it. */
  about: string;
}

const UNKNOWN = /^no CA is given; the server's certificate has the SHA-256 ((?:[0-9A-F]{2}:){31}[0-9A-F]{2}): (.+)$/s;

/** By the words of the step (src/kubernetes/connect.c); null: nothing is to be confirmed. */
export function unknownCertificate(steps: readonly ConnectStep[]): UnknownCertificate | null {
  const [, sha256, about] = UNKNOWN.exec(findingOf(steps, 'tls')) ?? [];
  return sha256 && about ? { sha256, about } : null;
}

const CONTEXTS = /^kubeconfig:(?:\d+:\d+:)? (?:there are several contexts and none is the current one: |there is no context ".*"; there is )(".*")( and \d+ more)?$/s;

/** What the names of its contexts are, where the service asks for one (src/k8s/kubeconfig.c); null: it does not. */
export function askedContexts(steps: readonly ConnectStep[]): { names: string[]; areAll: boolean } | null {
  const [, quoted, more] = CONTEXTS.exec(findingOf(steps, 'text')) ?? [];
  if (!quoted) return null;
  const names = quoted.slice(1, -1).split('", "');
  // The service cuts a name that is long.
  return { names, areAll: more === undefined && !names.some((name) => name.endsWith('...')) };
}

function findingOf(steps: readonly ConnectStep[], step: string): string {
  return steps.find((each) => each.step === step && each.status === 'failed')?.finding ?? '';
}
