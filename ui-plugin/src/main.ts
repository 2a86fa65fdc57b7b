// The entry of the page: in which of its homes it is stands on its root element.
// SPDX-License-Identifier: GPL-3.0-or-later
import { startPanel } from './hosts/panel.js';
import { startTab } from './hosts/tab.js';
import { startVsphere } from './hosts/vsphere.js';
import './views/app.js';

const HOMES = { panel: startPanel, tab: startTab, vsphere: startVsphere };

const app = document.querySelector('kaas-app');
const home = document.documentElement.dataset['home'] as keyof typeof HOMES;
if (app) HOMES[home](app);
