// The page in the vSphere Client, as its remote plug-in: who is there, what is looked at, theme and language are the client's.
// What of htmlClientSdk is used is declared here, as VMware documents it; calls that older clients lack are looked for first.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient } from '../api/client.js';
import { ApiError } from '../api/error.js';
import type { CardSubject, Token } from '../api/types.js';
import { setTheme, start, type Theme } from '../start.js';
import { chooseLanguage, strings } from '../strings/index.js';
import type { App } from '../views/app.js';
import { readUrn, type Urn } from './urn.js';

interface Sdk {
  initialize(then: () => void): void;
  app: {
    getContextObjects(): { id: string }[];
    getSessionInfo(then: (info: { sessionToken: string } | null) => void): void;
    getPluginBackendInfo?(then: (info: { backendServersPerVc?: Record<string, unknown> } | null) => void): void;
    getClientLocale?(): string;
    getTheme?(): { name: string };
    navigateToClientView?(to: { targetViewId: string; objectId: string }): void;
    navigateTo(to: { objectId: string }): void;
  };
  event: {
    onThemeChanged?(then: (theme: { name: string }) => void): void;
    onGlobalRefresh?(then: () => void): void;
  };
}

function themeOf(name: string | undefined): Theme | null {
  return name === 'light' || name === 'dark' ? name : null;
}

/** vCenters that have our plug-in, and so know KaaS: those of one linked group. */
function askVcenters({ app }: Sdk): Promise<string[]> {
  return new Promise((done) => {
    if (!app.getPluginBackendInfo) return done([]);
    app.getPluginBackendInfo((info) => done(Object.keys(info?.backendServersPerVc ?? {})));
  });
}

function askSession({ app }: Sdk): Promise<string | null> {
  return new Promise((done) => app.getSessionInfo((info) => done(info?.sessionToken ?? null)));
}

/** At the vCenter of what is looked at; in the global view at the first that takes the session, and then at the others, for which nobody waits. */
async function signIn(sdk: Sdk, at: string | null, api: ApiClient, app: App): Promise<Token | null> {
  const session = await askSession(sdk);
  if (session === null) return null;
  if (at !== null) return api.loginPlugin(at, session);
  const vcenters = await askVcenters(sdk);
  for (const [n, vcenter] of vcenters.entries()) {
    try {
      const token = await api.loginPlugin(vcenter, session);
      void addVcenters(api, token, vcenters.filter((other) => other !== vcenter), session, app);
      return token;
    } catch (error) {
      if (!(error instanceof ApiError) || n + 1 === vcenters.length) throw error;
    }
  }
  return null;
}

/** Tells `app` of those where KaaS is not registered, or which do not take the session: the service does not say which. */
async function addVcenters(api: ApiClient, token: Token, vcenters: readonly string[], session: string, app: App): Promise<void> {
  const closed: string[] = [];
  await Promise.all(vcenters.map(async (vcenter) => {
    try {
      await api.addVcenter(token.access_token, vcenter, session);
      app.refresh();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      closed.push(vcenter);
    }
  }));
  app.closedVcenters = closed.sort();
}

/** What its card in the summary is about. */
function cardOf(context: Urn | null): CardSubject | null {
  if (context?.type === 'VirtualMachine') return { vcenter: context.vcenter, vm: context.moref };
  if (context?.type === 'HostSystem') return { vcenter: context.vcenter, host: context.moref };
  return context?.type === 'Datacenter' ? { vcenter: context.vcenter, datacenter: context.moref } : null;
}

/** In this client, at the machine's own vCenter. */
function openVm({ app }: Sdk, clientUrl: string): void {
  const objectId = decodeURIComponent(/\/(urn:[^/]+)/.exec(clientUrl)?.[1] ?? '');
  if (readUrn(objectId) === null) return;
  if (app.navigateToClientView) app.navigateToClientView({ targetViewId: 'vm.summary', objectId });
  else app.navigateTo({ objectId });
}

function show(sdk: Sdk, app: App): void {
  const context: Urn | null = readUrn(sdk.app.getContextObjects()[0]?.id ?? '');
  const locale = sdk.app.getClientLocale?.();
  start(app, {
    // Through vCenter's proxy, whose path stands in front of ours.
    base: new URL('../v2/', document.baseURI).href,
    fetch: window.fetch.bind(window),
    languages: locale ? [locale, ...navigator.languages] : navigator.languages,
    theme: themeOf(sdk.app.getTheme?.().name),
    isFramed: true,
    hasAccount: true,
    scope: context?.type === 'ClusterComputeResource' ? { vcenter: context.vcenter, vsphere_cluster: context.moref } : null,
    keepsCookie: false,
    card: cardOf(context),
    signIn: (api) => signIn(sdk, context?.vcenter ?? null, api, app),
    openVm: (clientUrl) => openVm(sdk, clientUrl),
    tell: () => undefined,
  });
  sdk.event.onThemeChanged?.((theme) => setTheme(themeOf(theme.name)));
  sdk.event.onGlobalRefresh?.(() => app.refresh());
}

function sayWhereItBelongs(): void {
  document.documentElement.lang = chooseLanguage(navigator.languages);
  document.body.textContent = strings.clientOver.outside;
}

export function startVsphere(app: App): void {
  const sdk = (window as { htmlClientSdk?: Sdk }).htmlClientSdk;
  if (sdk) sdk.initialize(() => show(sdk, app));
  else sayWhereItBelongs();
}
