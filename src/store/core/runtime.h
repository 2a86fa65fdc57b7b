/* What every module of the daemon is handed. Layer 2 (store). SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

struct seal;
struct store;

/* One for all modules; outlives them. Texts are borrowed. */
struct runtime {
    struct store *store;
    struct seal *seal;      /* seals what is secret in the database */
    const char *version;    /* of this program */
    const char *public_url; /* "https://kaas.example.com" without path, as browsers, vCenters and HX reach us; "": not set */
    void (*on_written)(void *arg); /* called after a write to the database, so that memory follows it at once; may be NULL */
    void *on_written_arg;
};

/* Calls on_written. */
static inline void runtime_note_written(const struct runtime *runtime) {
    if (runtime->on_written)
        runtime->on_written(runtime->on_written_arg);
}
