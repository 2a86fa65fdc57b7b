// What the vSphere Client calls an object: urn:vmomi:TYPE:MOREF:VCENTER, with the instance UUID of the vCenter.
// SPDX-License-Identifier: GPL-3.0-or-later

export interface Urn {
  type: string;
  moref: string;
  vcenter: string;
}

const URN = /^urn:vmomi:([A-Za-z]+):([A-Za-z0-9._-]+):([0-9a-fA-F-]{36})$/;

/** Null for what is none. */
export function readUrn(text: string): Urn | null {
  const [, type, moref, vcenter] = URN.exec(text) ?? [];
  return type && moref && vcenter ? { type, moref, vcenter: vcenter.toLowerCase() } : null;
}
