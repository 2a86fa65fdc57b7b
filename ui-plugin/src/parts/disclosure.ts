// A button that opens a panel: closed by the button, by Escape, by a press elsewhere and when the focus leaves.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { LitElement, ReactiveController } from 'lit';

export class Disclosure implements ReactiveController {
  isOpen = false;

  /** `area` finds the element that holds button and panel, `button` the button in it. */
  constructor(private readonly host: LitElement, private readonly area: string, private readonly button: string) {
    host.addController(this);
  }

  hostConnected(): void {
    document.addEventListener('pointerdown', this.onElsewhere);
  }

  hostDisconnected(): void {
    document.removeEventListener('pointerdown', this.onElsewhere);
    this.isOpen = false;
  }

  readonly toggle = (): void => this.set(!this.isOpen);

  readonly close = (): void => this.set(false);

  readonly onKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !this.isOpen) return;
    this.set(false);
    this.host.renderRoot.querySelector<HTMLElement>(this.button)?.focus();
  };

  readonly onFocusOut = (event: FocusEvent): void => {
    const next = event.relatedTarget;
    if (next instanceof Node && !(event.currentTarget as HTMLElement).contains(next)) this.set(false);
  };

  private readonly onElsewhere = (event: PointerEvent): void => {
    const area = this.host.renderRoot.querySelector(this.area);
    if (this.isOpen && area && !event.composedPath().includes(area)) this.set(false);
  };

  private set(isOpen: boolean): void {
    if (isOpen === this.isOpen) return;
    this.isOpen = isOpen;
    this.host.requestUpdate();
  }
}
