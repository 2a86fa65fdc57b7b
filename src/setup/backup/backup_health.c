/* How old the newest backup is. Layer 4 (setup).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "backup_health.h"

#include "clock.h"
#include "replica_store.h"

int backup_health_sync(struct backup_health *health, struct store *store, struct err *err) {
    struct installation_age age;
    int rc = installation_store_load_age(store, &age, err);
    if (rc)
        return rc;
    atomic_store(&health->backup_at_ms, age.backup_at_ms);
    atomic_store(&health->made_at_ms, age.made_at_ms);
    return 0;
}

int64_t backup_health_last_ms(const struct backup_health *health) {
    return atomic_load(&health->backup_at_ms);
}

void backup_health_check(const struct backup_health *health, int64_t warn_after_ms, struct findings *out) {
    const int64_t made_at_ms = atomic_load(&health->made_at_ms), last_ms = atomic_load(&health->backup_at_ms);
    struct finding f = {.step = "backup", .since_ms = last_ms ? last_ms : made_at_ms};
    const bool is_old = clock_wall_ms() - f.since_ms >= warn_after_ms;
    char at[CLOCK_RFC3339_BYTES];
    if (!made_at_ms || !warn_after_ms)
        return;
    clock_format(last_ms, at);
    if (!last_ms && is_old)
        finding_say(&f, FINDING_WARNING, "no backup was made yet");
    else if (!last_ms) {
        clock_format(made_at_ms + warn_after_ms, at);
        finding_say(&f, FINDING_OK, "no backup was made yet; from %.16sZ on this is a warning", at);
    } else if (is_old)
        finding_say(&f, FINDING_WARNING, "the newest backup is of %.16sZ, which is longer ago than backup.warn_after", at);
    if (is_old || !last_ms)
        finding_advise(
            &f, "kaasctl backup FOLDER, or each day by itself: systemctl enable --now kaas-backup.timer; where that is on: "
                "systemctl status kaas-backup");
    findings_add(out, &f);
}
