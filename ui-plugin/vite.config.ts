// How the page is built: one flat folder, relative addresses, hashed names, nothing inline (the page's CSP forbids it).
// SPDX-License-Identifier: GPL-3.0-or-later
import { defineConfig } from 'vitest/config';

export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    outDir: 'dist',
    emptyOutDir: true,
    assetsDir: '',
    // A data: script or style would break the CSP, and small files cache better on their own.
    assetsInlineLimit: 0,
    // The polyfill is an inline-style helper for browsers older than our target.
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    rollupOptions: { input: ['index.html', 'panel.html', 'vsphere.html'] },
  },
  server: {
    host: '127.0.0.1',
    proxy: { '/v2': process.env['KAAS_URL'] ?? 'http://127.0.0.1:8480' },
  },
  test: {
    environment: 'node',
    include: ['test/**/*.test.ts'],
  },
});
