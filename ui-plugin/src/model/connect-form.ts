// What the form that connects a cluster makes of what somebody gives and of what the service asks for; pure.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiError } from '../api/error.js';
import type { Certificate } from '../api/types.js';

export type KubeconfigFault = 'missing' | 'too-long' | 'unreadable';

/** As the service counts (docs/openapi.yaml, KubernetesConnect). */
export const KUBECONFIG_BYTES_MAX = 262_144;

export function faultOf(kubeconfig: string): KubeconfigFault | null {
  if (kubeconfig.trim() === '') return 'missing';
  return new TextEncoder().encode(kubeconfig).length > KUBECONFIG_BYTES_MAX ? 'too-long' : null;
}

/** As many contexts as the service names (docs/openapi.yaml, Problem). */
export const CONTEXTS_MAX = 50;

/** What the next try has to say. */
export interface Asked {
  certificate: Certificate | null;
  contexts: { names: string[]; areAll: boolean } | null;
}

export function askedOf({ failure }: ApiError): Asked {
  const { certificate = null, contexts = null } = failure.kind === 'problem' ? failure.problem : {};
  return { certificate, contexts: contexts && { names: contexts, areAll: contexts.length < CONTEXTS_MAX } };
}
