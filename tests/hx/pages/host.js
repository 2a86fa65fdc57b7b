// What a host page does: shows the panel, and hands over who is here when the panel asks. docs/panel.md is the contract.
// SPDX-License-Identifier: GPL-3.0-or-later
const host = await (await fetch('/kaas/host.json')).json();
const content = document.querySelector('#content');
/** Tests change these: what is sent in place of the right answer, and what else. */
window.kaas = { messages: [], states: [], change: (message) => message, more: () => [], target: host.origin };

document.querySelector('#cluster').textContent = host.name;
document.querySelector('#person').textContent = host.person;

const complain = (text) => void fetch('/kaas/violation', { method: 'POST', body: text });

const isOf = (data, type, members) => data?.type === type && Object.keys(data).sort().join() === members;
/** Each new frame asks, and asks again when a session has ended, each time with another nonce. */
let mayAsk = true;
const nonces = new Set();

async function onMessage(event) {
  const frame = document.querySelector('iframe');
  if (!frame || event.source !== frame.contentWindow) return;
  if (event.origin !== host.origin) return complain(`a message from ${event.origin}`);
  const { data } = event;
  window.kaas.messages.push(data);
  if (/eyJ/.test(JSON.stringify(data))) return complain('a token has left the panel');
  if (isOf(data, 'kaas:state', 'state,type') && ['signed-in', 'signed-out'].includes(data.state)) {
    mayAsk ||= data.state === 'signed-out';
    window.kaas.states.push(data.state);
    document.querySelector('#state').textContent = data.state === 'signed-in' ? 'Kubernetes: connected' : 'Kubernetes: not signed in';
    return;
  }
  if (!isOf(data, 'kaas:ready', 'nonce,type') || !/^[0-9a-f]{32}$/.test(data.nonce)) return complain(`no message of the contract: ${JSON.stringify(data)}`);
  // So speaks a panel to `*` that means each of its hosts: a page cannot see for whom a message was, but it hears all of them.
  if (!mayAsk || nonces.has(data.nonce)) return complain('the panel has asked again');
  mayAsk = false;
  nonces.add(data.nonce);
  const given = await (await fetch('/kaas/hand-over', { method: 'POST' })).json();
  const message = window.kaas.change({ type: 'kaas:hand-over', nonce: data.nonce, ...given });
  for (const each of [message, ...window.kaas.more(message)]) if (each) frame.contentWindow.postMessage(each, window.kaas.target);
}

window.addEventListener('message', (event) => void onMessage(event));

function show() {
  const place = location.hash || '#/kubernetes';
  for (const link of document.querySelectorAll('nav a')) link.toggleAttribute('aria-current', link.hash === place);
  if (place === '#/kubernetes') {
    const frame = document.createElement('iframe');
    frame.title = 'Kubernetes';
    frame.src = host.panel;
    mayAsk = true;
    content.replaceChildren(frame);
    return;
  }
  const cards = document.createElement('div');
  cards.className = 'cards';
  for (const title of ['Operational Status', 'Resiliency Health', 'Capacity']) {
    const card = document.createElement('section');
    card.textContent = title;
    cards.append(card);
  }
  content.replaceChildren(cards);
}

window.addEventListener('hashchange', show);
show();
