/* How those stand who know people, and what signs in by them: for health. Layer 5 (auth).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "identity_health.h"

#include <stdio.h>
#include <sys/stat.h>

#include "clock.h"
#include "directories.h"
#include "kerberos.h"
#include "peers.h"
#include "x509.h"

static void health_check_directory(const struct directory_report *report, struct findings *out) {
    struct finding f = {.step = "directory", .since_ms = report->since_ms};
    const int64_t left_ms = report->certificate_end_ms - clock_wall_ms();
    if (report->state == DIRECTORY_DISABLED)
        return;
    (void)snprintf(f.subject, sizeof(f.subject), "%s", report->source.name);
    if (report->state == DIRECTORY_FAILING) {
        finding_say_error(&f, FINDING_WARNING, &report->why);
        if (!f.remedy[0])
            finding_advise(&f, "see which step fails: kaasctl ldap test %s", report->source.name);
    } else if (report->certificate_end_ms && left_ms <= X509_EXPIRY_WARNING_MS) {
        finding_say(&f, FINDING_WARNING, "the certificate of the directory %s ends in %lld days", report->source.name,
                    (long long)(left_ms > 0 ? left_ms / CLOCK_DAY_MS : 0));
        finding_advise(&f, "renew it at the directory; with one that has ended nobody signs in by it");
    }
    findings_add(out, &f);
}

void directories_check_health(struct identity *identity, struct findings *out) {
    struct directory_report_list list = {0};
    if (directories_list(identity, &list, NULL))
        return;
    for (size_t i = 0; i < list.count; i++)
        health_check_directory(&list.items[i], out);
    directory_report_list_done(&list);
}

/* Others than its owner and its group can read it, or change it: 0644, 0660. */
static bool identity_health_is_open(const char *path, char *out, size_t n) {
    struct stat st;
    if (*path != '/' || stat(path, &st) || !(st.st_mode & (S_IRWXO | S_IWGRP)))
        return false;
    (void)snprintf(out, n, "the keytab %s is open to others (mode %04o): who reads it can make tickets for everybody", path,
                   st.st_mode & 07777U);
    return true;
}

void kerberos_check_health(struct kerberos *kerberos, const char *keytab, struct findings *out) {
    struct finding f = {.step = "kerberos"};
    struct kerberos_status status;
    char words[512];
    if (!kerberos || kerberos_get_status(kerberos, &status, NULL))
        return;
    f.since_ms = status.since_ms;
    if (status.problem.code) {
        finding_say_error(&f, FINDING_FAILED, &status.problem);
    } else if (identity_health_is_open(keytab, words, sizeof(words))) {
        finding_say(&f, FINDING_WARNING, "%s", words);
        finding_advise(&f,
                       "chmod 0400 the file, owned by the user that kaasd runs as; if strangers could read it, make a new key");
    } else {
        finding_say(&f, FINDING_OK, "%zu keys, the newest of version %u", status.keys_count, status.newest_kvno);
    }
    findings_add(out, &f);
    kerberos_status_done(&status);
}

struct ending {
    const struct service_account *account;
    int64_t at_ms;
    unsigned count;
};

/* What ends next among accounts that are in use. */
static struct ending find_ending(const struct inventory_platform *platform, int64_t before_ms) {
    struct ending found = {.at_ms = INT64_MAX};
    for (size_t i = 0; i < platform->services_count; i++) {
        const struct service_account *a = &platform->services[i];
        for (size_t j = 0; !a->is_disabled && j < a->certificates_count; j++) {
            const int64_t at_ms = a->certificates[j].not_after_ms;
            if (!at_ms || at_ms > before_ms)
                continue;
            found.count++;
            if (at_ms < found.at_ms) {
                found.account = a;
                found.at_ms = at_ms;
            }
        }
    }
    return found;
}

void services_check_health(const struct inventory_platform *platform, struct findings *out) {
    const int64_t now_ms = clock_wall_ms();
    const struct ending found = find_ending(platform, now_ms + X509_EXPIRY_WARNING_MS);
    char at[CLOCK_RFC3339_BYTES];
    struct finding f = {.step = "service_certificates"};
    if (!found.account)
        return;
    clock_format(found.at_ms, at);
    f.since_ms = found.at_ms - X509_EXPIRY_WARNING_MS;
    finding_say(&f, FINDING_WARNING,
                "%u client certificates of service accounts have ended or will within %d days; first of \"%s\" at %s",
                found.count, X509_EXPIRY_WARNING_DAYS, found.account->name, at);
    finding_advise(&f, "give the new certificate beside the old one: kaasctl service set %s --add-certificate FILE",
                   found.account->name);
    findings_add(out, &f);
}

struct sink {
    const struct inventory_platform *platform;
    struct findings *out;
};

static void check_peer(void *arg, const struct hx_peer *peer) {
    const struct sink *sink = arg;
    const struct hx_cluster *hx = inventory_find_hx(sink->platform, peer->hx_id);
    struct finding f = {.step = "hx_peer", .since_ms = peer->since_ms};
    (void)snprintf(f.subject, sizeof(f.subject), "%s", peer->hx_id);
    if (peer->result.state == HX_PEER_FAILING) {
        finding_say(&f, FINDING_WARNING, "%.255s: %s", hx ? hx->name : "its HX cluster is gone", peer->result.detail);
        finding_advise(&f, "%s", peer->result.remedy);
    }
    findings_add(sink->out, &f);
}

void peers_check_health(struct peers *peers, const struct inventory_platform *platform, struct findings *out) {
    peers_each(peers, check_peer, &(struct sink){platform, out});
}
