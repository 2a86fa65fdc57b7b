// A stand-in for the script that vCenter serves to the pages of remote plug-ins, made from VMware's documents of SDK 9.0: the calls listed
// there and no others. What is not listed throws; so does a call before initialize(). STATE is set in front by who serves this.
// SPDX-License-Identifier: GPL-3.0-or-later
/* global STATE */
(() => {
  const calls = [];
  const listeners = { theme: [], refresh: [], format: [] };
  const note = (name, ...rest) => void calls.push([name, ...rest]);
  const fail = (text) => {
    calls.push(['violation', text]);
    throw new Error(`htmlClientSdk: ${text}`);
  };
  const needsCallback = (name, then) => typeof then === 'function' || fail(`${name} needs a callback`);
  /** Answers come by messages from the client: never at once. */
  const later = (then, answer) => void setTimeout(() => then(answer), 0);

  /** What is not there is an error, but for what this client is too old for. */
  const strict = (name, members) =>
    new Proxy(members, {
      get(_, member) {
        if (typeof member === 'symbol') return undefined;
        if (STATE.without.includes(`${name}.${member}`)) return undefined;
        return member in members ? members[member] : fail(`there is no ${name}.${member}`);
      },
      set: (_, member) => fail(`${name}.${String(member)} cannot be set`),
    });

  const checkUrn = (urn) => /^urn:vmomi:\w+:[\w.-]+:[0-9a-f-]{36}$/.test(urn) || fail(`"${urn}" is no id of an object`);
  const CLIENT_VIEWS = ['cluster.summary', 'host.summary', 'vm.summary', 'datastore.summary', 'network.summary', 'cluster.monitor.allIssues', 'workload-platform.supervisor.summary'];

  const app = {
    getContextObjects: () => STATE.objects.map((id) => ({ id })),
    getSessionInfo(then) {
      needsCallback('getSessionInfo', then);
      note('getSessionInfo');
      fetch('/stub/session').then(async (answer) => then(answer.ok ? await answer.json() : null));
    },
    getApiEndpoints: () => ({ uiApiEndpoint: { origin: location.origin, pathname: '/api/ui', queryParams: [], fullUrl: `${location.origin}/api/ui` } }),
    getPluginBackendInfo(then) {
      needsCallback('getPluginBackendInfo', then);
      const server = { proxiedUrl: location.href, proxiedBaseUrl: location.origin, type: 'MANIFEST_SERVER' };
      later(then, { allPluginBackendServers: [server], backendServersPerVc: Object.fromEntries(STATE.vcenters.map((id) => [id, [server]])), backendServersPerVcObject: {} });
    },
    getClientInfo: () => ({ type: 'html', version: '9.0.0' }),
    getClientLocale: () => STATE.locale,
    getTheme: () => ({ name: STATE.theme }),
    formatDateTime: (ms) => new Date(ms).toISOString(),
    navigateTo({ targetViewId, objectId }) {
      if (targetViewId !== undefined && !STATE.views.includes(targetViewId)) fail(`"${targetViewId}" is no view of this plug-in`);
      if (objectId !== undefined) checkUrn(objectId);
      note('navigateTo', objectId);
    },
    getNavigationData: () => null,
    navigateToClientView({ targetViewId, objectId }) {
      if (!CLIENT_VIEWS.includes(targetViewId)) fail(`"${targetViewId}" is no view of the client`);
      checkUrn(objectId);
      note('navigateToClientView', targetViewId, objectId);
    },
    refreshPluginItemsState: () => note('refreshPluginItemsState'),
  };
  const on = (kind) => (then) => needsCallback(kind, then) && void listeners[kind].push(then);
  const event = { onThemeChanged: on('theme'), onGlobalRefresh: on('refresh'), onDateTimeFormatChanged: on('format') };

  let isReady = false;
  const sdk = {
    initialize(then) {
      needsCallback('initialize', then);
      if (isReady) fail('initialize() is called twice');
      setTimeout(() => {
        isReady = true;
        then();
      }, 0);
    },
    isInitialized: () => isReady,
    getProxiedPluginServerOrigin: () => location.origin + STATE.prefix,
  };
  window.htmlClientSdk = new Proxy(sdk, {
    get(_, member) {
      if (member in sdk) return sdk[member];
      if (member !== 'app' && member !== 'event') return fail(`there is no htmlClientSdk.${String(member)}`);
      if (!isReady) return fail(`htmlClientSdk.${member} is asked for before initialize() has ended`);
      return member === 'app' ? strict('app', app) : strict('event', event);
    },
  });
  /** For tests: what was called, and what the client tells. */
  window.client = { calls, fire: (kind, value) => listeners[kind].forEach((then) => then(value)) };
})();
