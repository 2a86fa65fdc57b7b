/* Versions of Kubernetes: skew and support. Layer 1 (model); pure. SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube_version.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define NUMBER_DIGITS_MAX 4
#define DAY_BYTES sizeof("2026-11-30")

static const struct kube_minor minors[] = {
#define KUBE_MINOR(minor, released, maintenance, end, patch) {minor, released, maintenance, end, patch},
#include "kube_minors.def"
#undef KUBE_MINOR
};
#define MINORS (sizeof(minors) / sizeof(minors[0]))

const struct kube_minor *kube_version_minor(size_t at) {
    return at < MINORS ? &minors[at] : NULL;
}

/* Reads digits; the rest of the text, or NULL where there are none or too many. */
static const char *read_number(const char *text, int *out) {
    int digits = 0;
    for (*out = 0; *text >= '0' && *text <= '9'; text++, digits++) {
        if (digits == NUMBER_DIGITS_MAX)
            return NULL;
        *out = *out * 10 + (*text - '0');
    }
    return digits ? text : NULL;
}

bool kube_version_parse(const char *text, struct kube_version *out) {
    struct kube_version v;
    if (!text)
        return false;
    text = read_number(text + (*text == 'v'), &v.major);
    if (!text || *text != '.')
        return false;
    text = read_number(text + 1, &v.minor);
    if (!text || *text != '.')
        return false;
    text = read_number(text + 1, &v.patch);
    if (!text || (*text && *text != '-' && *text != '+'))
        return false;
    *out = v;
    return true;
}

enum kube_skew kube_version_skew(const struct kube_version *kubelet, const struct kube_version *api) {
    const int older_max = kubelet->minor < 25 ? 2 : 3;
    if (kubelet->major != api->major)
        return kubelet->major > api->major ? KUBE_SKEW_NEWER : KUBE_SKEW_TOO_OLD;
    if (kubelet->minor > api->minor)
        return KUBE_SKEW_NEWER;
    return api->minor - kubelet->minor > older_max ? KUBE_SKEW_TOO_OLD : KUBE_SKEW_FITS;
}

static const struct kube_minor *find_minor(int minor) {
    for (size_t i = 0; i < MINORS; i++)
        if (minors[i].minor == minor)
            return &minors[i];
    return NULL;
}

/* Days compare as texts. "": a time that no calendar has, which is before everything. */
static void put_day(int64_t now_ms, char out[DAY_BYTES]) {
    const time_t at = (time_t)(now_ms / 1000);
    struct tm utc;
    if (!gmtime_r(&at, &utc) || !strftime(out, DAY_BYTES, "%Y-%m-%d", &utc))
        out[0] = '\0';
}

static void put_upgrade(const struct kube_version *v, const char *today, struct kube_supported *out) {
    const struct kube_minor *own = find_minor(v->minor), *next = find_minor(v->minor + 1);
    const struct kube_minor *to = NULL;
    if (own && out->support != KUBE_SUPPORT_ENDED && v->patch < own->patch)
        to = own;
    else if (next && strcmp(today, next->released) >= 0)
        to = next;
    if (to)
        (void)snprintf(out->upgrade, sizeof(out->upgrade), "1.%d.%d", to->minor, to->patch);
}

void kube_version_support(const char *version, int64_t now_ms, struct kube_supported *out) {
    struct kube_version v;
    char today[DAY_BYTES];
    *out = (struct kube_supported){.support = KUBE_SUPPORT_UNKNOWN};
    if (!kube_version_parse(version, &v) || v.major != 1 || v.minor > minors[MINORS - 1].minor)
        return;
    put_day(now_ms, today);
    const struct kube_minor *row = find_minor(v.minor);
    out->end = row ? row->end : NULL; /* before the first row: ended, whenever that was */
    if (!row || strcmp(today, row->end) > 0)
        out->support = KUBE_SUPPORT_ENDED;
    else
        out->support = strcmp(today, row->maintenance) >= 0 ? KUBE_SUPPORT_MAINTENANCE : KUBE_SUPPORT_FULL;
    put_upgrade(&v, today, out);
}
