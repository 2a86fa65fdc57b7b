// Every text about jobs, in English. The other catalogues have the same members.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { JobState, JobStep } from '../../api/types.js';

/** By kind of job, as the service names it. */
const KINDS: Record<string, string> = {
  'cluster.create': 'Create the cluster',
  'cluster.delete': 'Delete the cluster',
  'cluster.disconnect': 'Disconnect the cluster',
};

/** By kind of job and name of the step. */
const STEPS: Record<string, string> = {
  'cluster.create/record': 'Look whether it can be built, and enter it in the list',
  'cluster.create/keys': 'Make its certificate authorities',
  'cluster.create/folder': 'Make the folder of its machines',
  'cluster.create/address': 'Choose the address of its API',
  'cluster.create/draw': 'Choose name and address',
  'cluster.create/clone': 'Clone the template',
  'cluster.create/boot': 'Start the machine, until it is a node',
  'cluster.create/connect': 'Connect to its API',
  'cluster.create/network': 'Install the network of its pods',
  'cluster.create/ready': 'Wait until Kubernetes calls all nodes Ready',
  'cluster.delete/state': 'Say in the list that it is being deleted',
  'cluster.delete/off': 'Shut down',
  'cluster.delete/destroy': 'Destroy',
  'cluster.delete/release': 'Give its address back',
  'cluster.delete/folder': 'Remove the folder of its machines',
  'cluster.delete/address': 'Give the address of its API back',
  'cluster.delete/keys': 'Forget its certificate authorities',
  'cluster.delete/connection': 'Forget the connection',
  'cluster.delete/record': 'Take it out of the list',
  'cluster.disconnect/leave': 'Remove what kaasd made in the cluster, and the connection',
};

export const catalogue = {
  kind: KINDS,
  step: STEPS,
  machine: { 'control plane': (n: string): string => `control plane ${n}`, worker: (n: string): string => `worker ${n}` },
  state: {
    queued: 'Begins at once',
    running: 'Under way',
    undoing: 'Is being taken back',
    done: 'Done',
    failed: 'Failed',
    canceled: 'Canceled, and taken back',
  } satisfies Record<JobState, string>,
  stopping: 'Stops after the step under way',
  stepState: { pending: 'Not begun', running: 'Under way', waiting: 'Waits', done: 'Done', failed: 'Failed', undone: 'Taken back' } satisfies Record<JobStep['state'], string>,
  progress: (done: number, all: number): string => `${done} of ${all} steps`,
  begun: (who: string | null, time: string): string => (who === null ? `Begun ${time}` : `Begun by ${who}, ${time}`),
  took: (time: string): string => `took ${time}`,
  since: 'since',
  lines: 'What it tells',
  noLines: 'Nothing yet.',
  cancel: 'Cancel the job',
  retry: 'Retry',
  failed: { cancel: 'The job was not canceled', retry: 'The job does not go on' },
  asked: {
    title: 'Cancel the job?',
    text: {
      'cluster.create': 'What it has made is taken back: machines with their disks, addresses, keys, and the cluster in the list.',
      'cluster.delete': 'It stops. What has been removed already does not come back.',
    } as Record<string, string>,
    otherText: 'It stops after the step under way, and what it has done is taken back.',
    no: 'Keep the job',
  },
};

export type JobCatalogue = typeof catalogue;
