/* Error numbers in one table: https://mariadb.com/kb/en/mariadb-error-codes/. Layer 2 (store), internal.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "db_errno.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <stddef.h>
#include <string.h>

#include "cleanup.h"
#include "err.h"

enum trait { PLAIN = 0, TRANSIENT = 1, LOST = 2 };

struct errno_row {
    unsigned number;
    int code;
    unsigned traits;
    const char *text, *remedy;
};

#define AWAY "the database cannot be reached"
#define STOPPING "the database is stopping"
#define CONFLICTING "other changes were in the way; try again"
#define NO_RIGHT "the database account lacks a right that is needed"
#define LOGIN_REFUSED "the database refused the account"
#define OLD_SCHEMA "the database schema does not fit this version"
#define MIGRATE "run: kaasctl db migrate"
#define GRANT "give the account its rights with: kaasctl init"
#define ACCOUNT "check database.user and the password file in the configuration"
#define CLUSTER "see that the node is connected with the others: SHOW STATUS LIKE 'wsrep_cluster_status'"
#define SERVER_UP "check that the database server runs and that the address in the configuration is right"

static const struct errno_row db_errno_rows[] = {
    {CR_CONNECTION_ERROR, ERR_DATABASE, LOST, AWAY, SERVER_UP},
    {CR_CONN_HOST_ERROR, ERR_DATABASE, LOST, AWAY, SERVER_UP},
    {CR_UNKNOWN_HOST, ERR_DATABASE, LOST, "the database's host name is unknown", SERVER_UP},
    {CR_SERVER_GONE_ERROR, ERR_DATABASE, LOST, AWAY, NULL},
    {CR_SERVER_LOST, ERR_DATABASE, LOST, "the database did not answer", NULL},
    {CR_SERVER_LOST_EXTENDED, ERR_DATABASE, LOST, "the database did not answer", NULL},
    {CR_SERVER_HANDSHAKE_ERR, ERR_DATABASE, LOST, "the database did not answer", NULL},
    {CR_SSL_CONNECTION_ERROR, ERR_DATABASE, LOST, "the TLS connection to the database failed",
     "check that database.tls_ca_file holds the CA of the server's certificate and that the host name is in it"},
    {CR_COMMANDS_OUT_OF_SYNC, ERR_INTERNAL, LOST, "internal error", NULL},
    {CR_MALFORMED_PACKET, ERR_DATABASE, LOST, "the database sent something that is not its protocol", NULL},
    {CR_OUT_OF_MEMORY, ERR_NOMEM, PLAIN, "out of memory", NULL},
    {ER_SERVER_SHUTDOWN, ERR_DATABASE, LOST, STOPPING, NULL},
    {ER_NORMAL_SHUTDOWN, ERR_DATABASE, LOST, STOPPING, NULL},
    {ER_CONNECTION_KILLED, ERR_DATABASE, LOST, "the database ended the connection", NULL},
    {ER_NEW_ABORTING_CONNECTION, ERR_DATABASE, LOST, "the database ended the connection", NULL},
    {ER_CON_COUNT_ERROR, ERR_DATABASE, LOST, "the database has no connection left",
     "raise max_connections of the database server"},
    {ER_TOO_MANY_USER_CONNECTIONS, ERR_DATABASE, LOST, "the database has no connection left for this account",
     "raise max_user_connections of the account"},
    {ER_HOST_IS_BLOCKED, ERR_DATABASE, LOST, "the database blocks this host after many failed connections",
     "run on the database server: mariadb-admin flush-hosts"},
    {ER_OUT_OF_RESOURCES, ERR_DATABASE, PLAIN, "the database is out of memory", NULL},
    {ER_RECORD_FILE_FULL, ERR_DATABASE, PLAIN, "the database's disk is full", "make room on the database server"},
    {ER_DISK_FULL, ERR_DATABASE, PLAIN, "the database's disk is full", "make room on the database server"},
    {ER_STATEMENT_TIMEOUT, ERR_DATABASE, PLAIN, "the database did not finish in time", NULL},
    {ER_MAX_PREPARED_STMT_COUNT_REACHED, ERR_DATABASE, PLAIN, "the database has no prepared statement left",
     "raise max_prepared_stmt_count of the database server"},
    /* Galera: the node is not (yet) part of the primary component; reported as "unknown command". Another node may be */
    {ER_UNKNOWN_COM_ERROR, ERR_DATABASE, LOST, "the database node is not part of its cluster at the moment", CLUSTER},
    /* Galera: the node fell out of the primary component while saving; others may have got it */
    {ER_ERROR_DURING_COMMIT, ERR_DATABASE, LOST, "the database broke off while saving", CLUSTER},
    {ER_QUERY_INTERRUPTED, ERR_DATABASE, PLAIN, "the database ended the statement", NULL},
    {ER_LOCK_DEADLOCK, ERR_BUSY, TRANSIENT, CONFLICTING, NULL}, /* Galera's certification failure too */
    {ER_LOCK_WAIT_TIMEOUT, ERR_BUSY, TRANSIENT, CONFLICTING, NULL},
    {ER_CHECKREAD, ERR_BUSY, TRANSIENT, CONFLICTING, NULL}, /* innodb_snapshot_isolation */
    {ER_OPTION_PREVENTS_STATEMENT, ERR_DATABASE, PLAIN, "the database server is read-only",
     "point the configuration at a server that takes writes"},
    {ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ERR_INTERNAL, PLAIN, "internal error", NULL},
    {ER_DBACCESS_DENIED_ERROR, ERR_DATABASE, PLAIN, NO_RIGHT, GRANT},
    {ER_TABLEACCESS_DENIED_ERROR, ERR_DATABASE, PLAIN, NO_RIGHT, GRANT},
    {ER_COLUMNACCESS_DENIED_ERROR, ERR_DATABASE, PLAIN, NO_RIGHT, GRANT},
    {ER_SPECIFIC_ACCESS_DENIED_ERROR, ERR_DATABASE, PLAIN, NO_RIGHT, GRANT},
    {ER_ACCESS_DENIED_ERROR, ERR_DATABASE, LOST, LOGIN_REFUSED, ACCOUNT},
    {ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ERR_DATABASE, LOST, LOGIN_REFUSED, ACCOUNT},
    {ER_HOST_NOT_PRIVILEGED, ERR_DATABASE, LOST, "the database refuses connections from this host", ACCOUNT},
    {ER_BAD_DB_ERROR, ERR_SCHEMA, LOST, "there is no such database", "run: kaasctl init"},
    {ER_NO_SUCH_TABLE, ERR_SCHEMA, PLAIN, OLD_SCHEMA, MIGRATE},
    {ER_BAD_FIELD_ERROR, ERR_SCHEMA, PLAIN, OLD_SCHEMA, MIGRATE},
    {ER_UNKNOWN_TABLE, ERR_SCHEMA, PLAIN, OLD_SCHEMA, MIGRATE},
    {ER_DUP_ENTRY, ERR_EXISTS, PLAIN, "an object with this name or id exists already", NULL},
    {ER_DUP_ENTRY_WITH_KEY_NAME, ERR_EXISTS, PLAIN, "an object with this name or id exists already", NULL},
    {ER_NO_REFERENCED_ROW, ERR_CONFLICT, PLAIN, "an object that this refers to does not exist", NULL},
    {ER_NO_REFERENCED_ROW_2, ERR_CONFLICT, PLAIN, "an object that this refers to does not exist", NULL},
    {ER_ROW_IS_REFERENCED, ERR_CONFLICT, PLAIN, "other objects still refer to this one", NULL},
    {ER_ROW_IS_REFERENCED_2, ERR_CONFLICT, PLAIN, "other objects still refer to this one", NULL},
    {ER_DATA_TOO_LONG, ERR_UNPROCESSABLE, PLAIN, "a text is too long", NULL},
    {ER_WARN_DATA_OUT_OF_RANGE, ERR_UNPROCESSABLE, PLAIN, "a number is out of range", NULL},
    {ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ERR_UNPROCESSABLE, PLAIN, "a text is not valid UTF-8", NULL},
    {ER_NET_PACKET_TOO_LARGE, ERR_TOO_LARGE, LOST, "too large for the database",
     "raise max_allowed_packet of the database server"},
};

static const struct errno_row *find_row(unsigned number) {
    for (size_t i = 0; i < ARRAY_COUNT(db_errno_rows); i++)
        if (db_errno_rows[i].number == number)
            return &db_errno_rows[i];
    return NULL;
}

/* Client library errors (CR_MIN_ERROR and up) that are not in the table still say that the connection is of no use. */
static bool is_client_error(unsigned number) {
    return number >= CR_MIN_ERROR && number <= CR_MYSQL_LAST_ERROR;
}

int db_errno_code(unsigned number) {
    const struct errno_row *row = find_row(number);
    if (row)
        return row->code;
    return ERR_INTERNAL;
}

const char *db_errno_text(unsigned number) {
    const struct errno_row *row = find_row(number);
    return row ? row->text : "internal error";
}

const char *db_errno_remedy(unsigned number) {
    const struct errno_row *row = find_row(number);
    return row ? row->remedy : NULL;
}

static bool has_trait(unsigned number, enum trait trait) {
    const struct errno_row *row = find_row(number);
    return row && (row->traits & trait);
}

bool db_errno_is_transient(unsigned number) {
    return has_trait(number, TRANSIENT);
}

bool db_errno_is_lost(unsigned number) {
    return find_row(number) ? has_trait(number, LOST) : is_client_error(number);
}

bool db_errno_is_open(unsigned number) {
    return db_errno_is_lost(number) || number == ER_STATEMENT_TIMEOUT || number == ER_QUERY_INTERRUPTED || !find_row(number);
}

static const char *find_last(const char *text, const char *word) {
    const char *last = NULL;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        last = at;
    return last;
}

void db_errno_key(const char *message, char out[DB_KEY_BYTES]) {
    static const struct {
        const char *before;
        char quote;
    } marks[] = {{" for key '", '\''}, {" CONSTRAINT `", '`'}};
    out[0] = '\0';
    for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
        const char *start = find_last(message, marks[i].before);
        const char *end = start ? strchr(start += strlen(marks[i].before), marks[i].quote) : NULL;
        size_t n = end ? (size_t)(end - start) : 0;
        if (!end || n >= DB_KEY_BYTES)
            continue;
        memcpy(out, start, n);
        out[n] = '\0';
        return;
    }
}
