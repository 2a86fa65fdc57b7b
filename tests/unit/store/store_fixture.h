/* What the store test programs share: a database of their own on the server of KAAS_TEST_DB_SOCKET, and looks behind the store's back.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "change_store.h"
#include "cluster.h"
#include "store.h"
#include "store_schema.h"
#include "unit.h"

#define FIXTURE_VC "11111111-1111-4111-8111-111111111111" /* instance UUID of the vCenter that tests make */
#define FIXTURE_NOW_MS 1700000000000
#define FIXTURE_PASSWORD "it's a \"secret\\ pässword"

/* Fails the test with the text of the error unless rc is 0. */
#define ASSERT_OK(rc, err) fixture_assert_code((rc), 0, (err), __FILE__, __LINE__)
/* Fails unless rc is this code and err tells the same. */
#define ASSERT_CODE(rc, code, err) fixture_assert_code((rc), (code), (err), __FILE__, __LINE__)

/* Behind the two macros; forgets the error. */
void fixture_assert_code(int rc, int code, struct err *err, const char *file, int line);

/* Name of this program's database. */
const char *fixture_database(void);

/* Options of an account on that database. No call reaches its limit on a slow machine either: a test about limits sets its own. */
struct store_options fixture_options(const char *user, const char *password);

/* Stores of root without database, of root on the database, of the owner and of the runtime account. Freed by store_free. */
struct store *fixture_admin(void);
struct store *fixture_root(void);
struct store *fixture_owner(void);
struct store *fixture_runtime(void);

/* Makes the empty database and both accounts; gives the runtime account its rights on the tables that are there; drops everything. */
void fixture_create(void);
void fixture_grant(void);
void fixture_drop(void);
/* All of it, with a migration to the schema of the program. cmocka group set-up and tear-down. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);
/* The same with a store of the runtime account, and the positions of the change feed as they are then. */
int fixture_begin(void **state, struct store **store, struct change_positions *positions);
int fixture_end(void **state, struct store *store, struct change_positions *positions);

/* Runs a statement, or reads one number or text (to be freed), as root. `sql` must live as long as the program. */
void fixture_exec(const char *sql);
int64_t fixture_number(const char *sql);
char *fixture_text(const char *sql);

/* Runs the control script with this command ("start", "kill", "freeze", "thaw"); with mariadbd options ended by NULL. */
void fixture_control(const char *command, const char *const *options);

/* A UUID that ends in this number; to be freed. */
char *fixture_uuid(unsigned n);

/* A cluster with what every record must have; `name` NULL: "cluster-N". Freed by cluster_free. */
struct cluster *fixture_cluster(unsigned n, const char *name);

/* Makes a vCenter with this instance UUID. */
void fixture_insert_vcenter(struct store *store, const char *id);

/* Number of changes of this kind since the last call with these positions. */
unsigned fixture_count_changes(struct store *store, struct change_positions *positions, enum change_kind kind);
