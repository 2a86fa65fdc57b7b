// Every text that a person reads, in German.
// SPDX-License-Identifier: GPL-3.0-or-later
import { PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN } from '../model/change-password-form.js';
import type { Method } from '../api/types.js';
import type { Catalogue } from './en.js';

type Fault = ReturnType<Catalogue['error']['problem']>;

const plural = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;

const LATER = 'Versuchen Sie es in ein paar Minuten noch einmal. Bleibt es so, sagen Sie es einem Administrator dieses Dienstes.';
const DATABASE: Fault = { detail: 'Der Dienst erreicht seine Datenbank nicht.', remedy: LATER };
const NOT_READY: Fault = { detail: 'Der Dienst ist gerade nicht bereit.', remedy: LATER };
const UPSTREAM: Fault = { detail: 'Ein vCenter oder Verzeichnisdienst, den der Dienst braucht, arbeitet nicht, wie er soll.', remedy: LATER };

const FAULTS: Record<string, Fault> = {
  forbidden: { detail: 'Dazu haben Sie nicht das Recht.', remedy: 'Fragen Sie einen Administrator dieses Dienstes.' },
  not_found: { detail: 'Das Gesuchte gibt es nicht mehr, oder Sie dürfen es nicht sehen.', remedy: 'Wählen Sie etwas anderes, oder heben Sie die Filter auf.' },
  too_many_requests: { detail: 'Der Dienst wurde zu oft gefragt.', remedy: 'Warten Sie ein wenig, und versuchen Sie es dann noch einmal.' },
  busy: { detail: 'Der Dienst hat zu viel zu tun.', remedy: 'Warten Sie ein wenig, und versuchen Sie es dann noch einmal.' },
  rights_unknown: { detail: 'vCenter hat noch nicht gesagt, was Sie sehen dürfen.', remedy: LATER },
  unavailable: NOT_READY,
  canceled: NOT_READY,
  database_unavailable: DATABASE,
  schema_mismatch: DATABASE,
  upstream_error: UPSTREAM,
  upstream_protocol: UPSTREAM,
  upstream_denied: UPSTREAM,
  upstream_unreachable: UPSTREAM,
  upstream_timeout: UPSTREAM,
  tls_untrusted: UPSTREAM,
};

const METHODS: Partial<Record<Method, string>> = {
  password: 'mit einem Passwort, hier geprüft',
  vcenter_password: 'mit einem Passwort, von vCenter geprüft',
  vcenter_session: 'durch eine Sitzung bei vCenter',
  vcenter_clone_ticket: 'durch eine Sitzung bei vCenter',
  vcenter_session_key: 'durch eine Sitzung bei vCenter',
  vcenter_service: 'durch ein Programm, das für Sie handelt',
  kerberos: 'mit Kerberos',
  service: 'als Programm',
};

export const catalogue: Catalogue = {
  product: 'Harmony KaaS',
  tagline: 'Kubernetes-Cluster auf vSphere und HyperFlex',

  header: {
    signOut: 'Abmelden',
    changePassword: 'Passwort ändern',
    role: { admin: 'Administrator', user: 'Benutzer', provisioner: 'Bereitsteller', service: 'Dienst' },
    account: 'Ihr Konto',
    name: 'Name',
    roleLabel: 'Rolle',
    way: 'Angemeldet',
    id: 'Kennung',
    groupsLabel: 'Gruppen',
    groups: (n) => (n === 0 ? 'Keine' : String(n)),
    moreGroups: (n) => `und ${n} weitere`,
    method: (method, directory) => {
      if (method === 'directory_password') return `mit einem Passwort, vom Verzeichnis ${directory ?? ''} geprüft`.replace('  ', ' ');
      return METHODS[method] ?? method;
    },
  },

  signIn: {
    documentTitle: 'Anmelden · Harmony KaaS',
    title: 'Anmelden',
    account: 'Konto',
    local: 'Lokales Konto',
    vcenter: 'vCenter-Konto',
    directory: (name) => `Verzeichnis ${name}`,
    waiting: 'Der Dienst wird gefragt, wie man sich anmeldet …',
    kerberos: 'Mit Kerberos anmelden',
    kerberosBusy: 'Anmeldung mit Kerberos …',
    kerberosHint: 'Ohne Passwort, als wer Sie an diesem Computer angemeldet sind.',
    or: 'oder mit einem Passwort',
    vcenterAddress: 'vCenter',
    vcenterHint: 'Adresse oder Name eines vCenters, das mit diesem Dienst verbunden ist, wenn nötig mit Port',
    username: 'Benutzername',
    usernameHintVcenter: 'Wie im vSphere Client, zum Beispiel anna@vsphere.local',
    usernameHintDirectory: 'Wie bei der Anmeldung an Ihrem Computer',
    kerberosFault: {
      none: {
        detail: 'Ihr Browser hat kein Kerberos-Ticket gesendet.',
        remedy: 'Dazu braucht es einen Computer, der an der Domäne angemeldet ist, und einen Browser, der an dieser Adresse Kerberos benutzen darf. Fragen Sie Ihren Administrator, oder melden Sie sich mit einem Passwort an.',
      },
      refused: {
        detail: 'Das Kerberos-Ticket Ihres Browsers wurde nicht angenommen.',
        remedy: 'Prüfen Sie die Uhr dieses Computers; sperren und entsperren Sie ihn dann, um ein neues Ticket zu bekommen. Hilft das nicht, geben Sie Ihrem Administrator die Anfragenummer: Das Protokoll nennt den Grund.',
      },
    },
    password: 'Passwort',
    submit: 'Anmelden',
    busy: 'Anmeldung …',
    missing: { vcenter: 'Geben Sie die Adresse des vCenters ein.', username: 'Geben Sie Ihren Benutzernamen ein.', password: 'Geben Sie Ihr Passwort ein.' },
    refused: { detail: 'Benutzername oder Passwort stimmt nicht.', remedy: null },
    refusedVcenter: {
      detail: 'vCenter, Benutzername oder Passwort stimmt nicht.',
      remedy: 'Haben mehrere vCenter dieselbe Adresse, geben Sie auch den Port an, zum Beispiel vc.example.com:443.',
    },
    noRole: {
      detail: 'Der Dienst weiß, wer Sie sind, aber Sie dürfen ihn noch nicht benutzen.',
      remedy: 'Bitten Sie einen Administrator dieses Dienstes um eine Rolle. Die Anfragenummer hilft, den Grund zu finden.',
    },
    vcenterAway: { detail: 'Das vCenter, das Ihr Passwort prüft, ist gerade nicht zu erreichen.', remedy: LATER },
    directoryAway: (name) => ({ detail: `Das Verzeichnis ${name}, das Ihr Passwort prüft, ist gerade nicht zu erreichen.`, remedy: LATER }),
    throttled: (s) => (s === null ? 'Zu viele Versuche. Warten Sie ein wenig.' : `Zu viele Versuche. Versuchen Sie es in ${plural(s, 'Sekunde', 'Sekunden')} noch einmal.`),
  },

  changePassword: {
    documentTitle: 'Passwort ändern · Harmony KaaS',
    title: 'Passwort ändern',
    due: 'Ihr Passwort hat jemand anderes gesetzt. Ersetzen Sie es durch eines, das nur Sie kennen; dann geht es weiter.',
    old: 'Jetziges Passwort',
    fresh: 'Neues Passwort',
    freshHint: `Mindestens ${PASSWORD_CHARS_MIN} Zeichen. Mehrere Wörter, die nicht zusammengehören, sind leicht zu merken und schwer zu raten.`,
    again: 'Neues Passwort noch einmal',
    submit: 'Passwort ändern',
    busy: 'Das Passwort wird geändert …',
    cancel: 'Abbrechen',
    fault: {
      'old-missing': 'Geben Sie das Passwort ein, mit dem Sie sich angemeldet haben.',
      'fresh-missing': 'Geben Sie ein neues Passwort ein.',
      'fresh-short': `Zu kurz: Nehmen Sie mindestens ${PASSWORD_CHARS_MIN} Zeichen, zum Beispiel mehrere Wörter.`,
      'fresh-long': `Zu lang: Nehmen Sie höchstens ${PASSWORD_BYTES_MAX} Byte; das sind ebenso viele einfache Buchstaben.`,
      'fresh-control': 'Es enthält ein Steuerzeichen, etwa einen Tabulator: Entfernen Sie es.',
      'fresh-is-old': 'Das ist das jetzige Passwort: Nehmen Sie ein anderes.',
      'again-missing': 'Geben Sie das neue Passwort noch einmal ein.',
      'again-differs': 'Das ist nicht dasselbe wie das neue Passwort: Geben Sie es noch einmal ein.',
    },
    refused: 'Das ist nicht Ihr jetziges Passwort: Geben Sie es noch einmal ein.',
    failedTitle: 'Das Passwort wurde nicht geändert',
    openTitle: 'Ob das Passwort geändert wurde, ist offen',
    openRemedy: 'Versuchen Sie es noch einmal. Wird das jetzige Passwort dann abgelehnt, gilt das neue schon: Melden Sie sich ab und mit ihm wieder an.',
    done: 'Ihr Passwort ist geändert. Ihre anderen Sitzungen sind beendet.',
  },

  ended: {
    'first': null,
    'signed-out': 'Sie sind abgemeldet.',
    'signed-out-here-only': 'Sie sind auf dieser Seite abgemeldet, aber der Dienst war nicht zu erreichen. Die Sitzung dort endet von selbst.',
    'expired': 'Ihre Sitzung ist abgelaufen, weil diese Seite sie nicht rechtzeitig erneuern konnte. Melden Sie sich wieder an.',
    'ended': 'Ihre Sitzung ist beendet. Melden Sie sich wieder an.',
    'time-limit': 'Ihre Sitzung hat ihre längste Dauer erreicht. Melden Sie sich wieder an.',
  },

  list: {
    documentTitle: 'Kubernetes-Cluster · Harmony KaaS',
    title: 'Kubernetes-Cluster',
    filter: 'Nach Name oder Beschreibung filtern',
    hxCluster: 'HX-Cluster',
    allHxClusters: 'Alle HX-Cluster',
    hxNotLoaded: 'HX-Cluster waren nicht zu laden',
    hxGone: (label) => `${label} (fort)`,
    clearFilters: 'Filter aufheben',
    refresh: 'Aktualisieren',
    refreshed: (time) => `Zuletzt aktualisiert ${time}`,
    loading: 'Cluster werden geladen …',
    count: (n, more) => (more ? `${n} Cluster auf dieser Seite` : `${n} Cluster`),
    previous: 'Zurück',
    next: 'Weiter',
    pages: 'Seiten',
    page: (n) => `Seite ${n}`,
    tableLabel: 'Kubernetes-Cluster',
  },

  table: {
    name: 'Name',
    state: 'Zustand',
    version: 'Kubernetes',
    controlPlane: 'Steuerungsebene',
    workers: 'Worker',
    placement: 'Läuft auf',
    access: 'Links',
    observed: 'Beobachtet',
    ready: (ready, desired) => (ready === null ? `${desired} gewünscht, Zahl der bereiten unbekannt` : `${ready} von ${desired} bereit`),
    vsphere: (datacenter, name, moref) => {
      const cluster = name ?? moref;
      return datacenter === null ? cluster : `${datacenter} / ${cluster}`;
    },
    hidden: (n) => `und ${n} weitere, die Sie nicht sehen dürfen`,
    onlyHidden: (n) => `${n} vSphere-Cluster, ${n === 1 ? 'das' : 'die'} Sie nicht sehen dürfen`,
    nowhere: 'Ohne Ort',
    noHx: 'Kein HX-Cluster',
    declared: 'angegeben',
    declaredHint: 'Aus dem Eintrag; von den VMs der Knoten noch nicht bestätigt',
    never: 'Nie',
    justNow: 'Gerade eben',
    dashboard: 'Dashboard',
    dashboardOf: (name) => `Dashboard von ${name}, öffnet einen neuen Tab`,
    api: 'API',
    apiOf: (name) => `API-Endpunkt von ${name}, öffnet einen neuen Tab`,
    none: '–',
  },

  state: {
    unknown: 'Unbekannt',
    creating: 'Wird erstellt',
    ready: 'Bereit',
    updating: 'Wird aktualisiert',
    degraded: 'Eingeschränkt',
    unreachable: 'Nicht erreichbar',
    failed: 'Fehlgeschlagen',
    deleting: 'Wird gelöscht',
  },

  empty: {
    noneTitle: 'Noch keine Cluster',
    noneAdmin: 'Tragen Sie den ersten Cluster auf der Befehlszeile ein; er erscheint hier sofort:',
    noneAdminCommand: 'kaasctl cluster add --name prod-1 --vsphere-cluster DC0/HX-East --kubernetes-version 1.31.2',
    noneUserTitle: 'Noch keine Cluster für Sie',
    noneUser: 'Sie sehen einen Cluster, wenn Sie seinen vSphere-Cluster in vCenter ansehen dürfen oder ein Administrator dieses Dienstes Sie dafür berechtigt hat. Fragen Sie einen davon.',
    noMatchTitle: 'Kein Cluster passt',
    noMatch: 'Kein Cluster, den Sie sehen dürfen, passt zum Filter.',
    noneOnHx: (name) => `Kein Cluster, den Sie sehen dürfen, läuft auf ${name}.`,
    pastEnd: 'Auf dieser Seite sind keine Cluster mehr.',
  },

  stale: {
    title: 'Diese Liste ist vielleicht nicht auf dem neuesten Stand.',
    away: (names) => `${names.length === 1 ? 'Ein vCenter ist' : 'Mehrere vCenter sind'} nicht zu erreichen: ${names.join(', ')}. Der Befehl "kaasctl vcenter status" nennt den Grund.`,
    asOf: (time) => `Stand: ${time}.`,
    reason: {
      database: 'Änderungen können gerade nicht aus der Datenbank gelesen werden.',
      vcenter: 'Ein vCenter, auf dem Cluster laufen, ist nicht zu erreichen oder weist den Dienst ab.',
      rights: 'Ihre Rechte lassen sich gerade nicht bei vCenter bestätigen; es gelten die zuletzt bekannten.',
    },
  },

  error: {
    listTitle: 'Die Cluster waren nicht zu laden',
    refreshTitle: 'Die Liste war nicht zu aktualisieren',
    signInTitle: 'Die Anmeldung ist nicht gelungen',
    keptRows: 'Die Zeilen unten sind von der letzten gelungenen Aktualisierung.',
    unreachable: 'Der Dienst antwortet nicht.',
    unreachableRemedy: 'Prüfen Sie die Netzverbindung, und ob der Browser dem Zertifikat dieser Seite vertraut; versuchen Sie es dann noch einmal.',
    signedOut: 'Die Sitzung ist beendet.',
    signedOutRemedy: 'Melden Sie sich wieder an.',
    timeout: 'Der Dienst hat nicht rechtzeitig geantwortet.',
    timeoutRemedy: 'Versuchen Sie es gleich noch einmal.',
    malformed: (status) => `Die Antwort kam nicht vom Dienst (HTTP ${status}).`,
    malformedRemedy: 'Vielleicht hat ein Proxy oder Lastverteiler dazwischen geantwortet. Sagen Sie es dem Administrator dieses Dienstes.',
    problem: (code) => FAULTS[code] ?? {
      detail: `Der Dienst konnte das nicht tun (${code}).`,
      remedy: 'Versuchen Sie es noch einmal. Hilft das nicht, geben Sie einem Administrator dieses Dienstes die Anfragenummer.',
    },
    stillWaiting: 'Der Dienst hat noch nicht geantwortet. Es wird weiter gewartet …',
    requestId: 'Anfragenummer',
    retryIn: (s) => `Warten Sie ${plural(s, 'Sekunde', 'Sekunden')}, bevor Sie es noch einmal versuchen.`,
    retry: 'Noch einmal versuchen',
  },
};
