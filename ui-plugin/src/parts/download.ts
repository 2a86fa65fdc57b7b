// Hands a text to the reader as a file.
// SPDX-License-Identifier: GPL-3.0-or-later

const KEPT_MS = 60_000;

/** The browser saves it by this name, or asks where to. */
export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // Not every browser has read it when the press is over.
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
}
