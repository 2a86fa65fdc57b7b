/* Faults of vCenter as plain data and as our errors. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Fault types and their members: vSphere Web Services API reference 8.0U3. A fault without a row is named, not lost. */
#include "vim_fault.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "str.h"
#include "vim_soap.h"

struct fault_row {
    int type;
    const char *name;
    enum vim_fault_kind kind;
    int code;
};

#define ROW(name, kind, code) \
    { SOAP_TYPE_vim25__##name, #name, VIM_FAULT_##kind, ERR_##code }

static const struct fault_row rows[] = {
    ROW(InvalidLogin, INVALID_LOGIN, CREDENTIALS),
    ROW(InvalidClientCertificate, INVALID_LOGIN, CREDENTIALS),
    ROW(PasswordExpired, INVALID_LOGIN, CREDENTIALS),
    ROW(NotAuthenticated, NOT_AUTHENTICATED, CREDENTIALS),
    ROW(NoPermission, NO_PERMISSION, UPSTREAM_DENIED),
    ROW(RestrictedByAdministrator, OTHER, UPSTREAM_DENIED),
    ROW(AuthMinimumAdminPermission, OTHER, UPSTREAM_DENIED),
    ROW(SecurityError, OTHER, UPSTREAM_DENIED),
    ROW(ManagedObjectNotFound, OBJECT_GONE, NOT_FOUND),
    ROW(NotFound, OTHER, NOT_FOUND),
    ROW(UserNotFound, OTHER, NOT_FOUND),
    ROW(AlreadyExists, OTHER, EXISTS),
    ROW(DuplicateName, NAME_TAKEN, EXISTS),
    ROW(RemoveFailed, OTHER, CONFLICT),
    ROW(RequestCanceled, CANCELED, UPSTREAM),
    ROW(MethodNotFound, METHOD_NOT_FOUND, UPSTREAM),
    ROW(NoClientCertificate, OTHER, UPSTREAM),
    ROW(NoSubjectName, OTHER, UPSTREAM),
    ROW(InvalidLocale, OTHER, UPSTREAM),
    ROW(InvalidName, OTHER, UPSTREAM),
    ROW(InvalidState, OTHER, UPSTREAM),
    ROW(InvalidPowerState, POWER, UPSTREAM),
    ROW(TaskInProgress, OTHER, BUSY),
    ROW(ConcurrentAccess, OTHER, BUSY),
    ROW(ResourceInUse, OTHER, BUSY),
    ROW(HostCommunication, OTHER, BUSY),
    ROW(HostNotConnected, OTHER, BUSY),
    ROW(InsufficientResourcesFault, OTHER, UPSTREAM),
    ROW(InsufficientCpuResourcesFault, OTHER, UPSTREAM),
    ROW(InsufficientMemoryResourcesFault, OTHER, UPSTREAM),
    ROW(NoCompatibleHost, OTHER, UPSTREAM),
    ROW(NoDiskSpace, OTHER, UPSTREAM),
    ROW(FileFault, OTHER, UPSTREAM),
    ROW(InvalidDatastore, OTHER, UPSTREAM),
    ROW(VmConfigFault, OTHER, UPSTREAM),
    ROW(ToolsUnavailable, OTHER, UPSTREAM),
    ROW(InvalidEvent, OTHER, UPSTREAM),
    ROW(InvalidProperty, OTHER, UPSTREAM),
    ROW(InvalidCollectorVersion, STALE, UPSTREAM),
    ROW(InvalidArgument, OTHER, UPSTREAM),
    ROW(InvalidRequest, OTHER, UPSTREAM),
    ROW(InvalidType, OTHER, UPSTREAM),
    ROW(NotSupported, OTHER, UPSTREAM),
    ROW(NotImplemented, OTHER, UPSTREAM),
    ROW(MethodDisabled, OTHER, UPSTREAM),
    ROW(SystemError, OTHER, UPSTREAM),
    ROW(VimFault, OTHER, UPSTREAM),
    ROW(RuntimeFault, OTHER, UPSTREAM),
    ROW(MethodFault, OTHER, UPSTREAM),
};

/* What people can do about a fault that has no kind of its own. */
static const struct {
    const char *name, *remedy;
} remedies[] = {
    {"InsufficientResourcesFault", "give the resource pool more, or power machines off there"},
    {"InsufficientCpuResourcesFault", "give the resource pool more CPU, or power machines off there"},
    {"InsufficientMemoryResourcesFault", "give the resource pool more memory, or power machines off there"},
    {"NoCompatibleHost",
     "see that a host of the cluster is connected, not in maintenance mode, and reaches datastore and network"},
    {"NoDiskSpace", "make room on the datastore, or name another one"},
    {"FileFault", "see whether the hosts reach the datastore, and the template's files are there"},
    {"InvalidDatastore", "name a datastore that the hosts of the cluster or pool reach"},
};

/* Copies printable text, control characters as blanks, cut at a character border. */
static void vim_fault_copy_text(const char *from, char *out, size_t size) {
    size_t n = 0;
    for (; from && from[n] && n + 1 < size; n++)
        out[n] = (unsigned char)from[n] < 0x20 || from[n] == 0x7f ? ' ' : from[n];
    if (from && from[n])
        while (n && ((unsigned char)from[n] & 0xc0) == 0x80)
            n--;
    out[n] = '\0';
}

static void copy_object(const struct vim25__ManagedObjectReference *ref, struct vim_fault *out) {
    if (!ref)
        return;
    vim_fault_copy_text(ref->type, out->object_type, sizeof(out->object_type));
    vim_fault_copy_text(ref->__item, out->object, sizeof(out->object));
}

#define TAKE_TEXT(fault_type, member)                                                                                 \
    case SOAP_TYPE_vim25__##fault_type:                                                                               \
        vim_fault_copy_text(((const struct vim25__##fault_type *)value)->member, out->subject, sizeof(out->subject)); \
        break

/* vCenter 7.0 Update 3 and later may name them in a list only (vim.fault.NoPermission, missingPrivileges): the first of it stands for all. */
static void take_missing_privilege(const struct vim25__NoPermission *fault, struct vim_fault *out) {
    const struct vim25__NoPermissionEntityPrivileges *first = fault->__sizemissingPrivileges ? fault->missingPrivileges : NULL;
    copy_object(fault->object, out);
    vim_fault_copy_text(fault->privilegeId, out->subject, sizeof(out->subject));
    if (first && !out->object[0])
        copy_object(first->entity, out);
    if (first && !out->subject[0] && first->__sizeprivilegeIds)
        vim_fault_copy_text(first->privilegeIds[0], out->subject, sizeof(out->subject));
}

static void take_members(int type, const void *value, struct vim_fault *out) {
    switch (type) {
    case SOAP_TYPE_vim25__NoPermission: take_missing_privilege(value, out); break;
    case SOAP_TYPE_vim25__DuplicateName:
        copy_object(((const struct vim25__DuplicateName *)value)->object, out);
        vim_fault_copy_text(((const struct vim25__DuplicateName *)value)->name, out->subject, sizeof(out->subject));
        break;
    case SOAP_TYPE_vim25__ManagedObjectNotFound:
        copy_object(((const struct vim25__ManagedObjectNotFound *)value)->obj, out);
        break;
        TAKE_TEXT(RestrictedByAdministrator, details);
        TAKE_TEXT(InvalidArgument, invalidProperty);
        TAKE_TEXT(InvalidProperty, name);
        TAKE_TEXT(InvalidType, argument);
        TAKE_TEXT(InvalidName, name);
        TAKE_TEXT(AlreadyExists, name);
        TAKE_TEXT(InvalidPowerState, existingState);
        TAKE_TEXT(NoDiskSpace, datastore);
        TAKE_TEXT(FileFault, file);
        TAKE_TEXT(InvalidDatastore, name);
        TAKE_TEXT(ResourceInUse, name);
        TAKE_TEXT(UserNotFound, principal);
        TAKE_TEXT(MethodNotFound, method);
        TAKE_TEXT(SystemError, reason);
    default: break;
    }
}

/* Name of the first element of an XML text, without prefix and without the "Fault" that vim25 puts behind the type. */
static void name_of_xml(const char *xml, char *out, size_t size) {
    const char *start = xml ? strchr(xml, '<') : NULL;
    size_t n = 0;
    for (; start && (isalnum((unsigned char)start[1 + n]) || start[1 + n] == '_' || start[1 + n] == ':'); n++)
        if (start[1 + n] == ':') {
            start += n + 1;
            n = (size_t)-1;
        }
    if (n > 5 && !strncmp(start + 1 + n - 5, "Fault", 5))
        n -= 5;
    (void)snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), n ? start + 1 : "");
}

/* Without xsi:type the name of the element still tells the type, though not its members. */
static void read_unknown(const struct vim_fault_source *source, struct vim_fault *out) {
    out->kind = VIM_FAULT_OTHER;
    out->code = ERR_UPSTREAM;
    name_of_xml(source->any, out->name, sizeof(out->name));
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        if (!strcmp(rows[i].name, out->name)) {
            out->kind = rows[i].kind;
            out->code = rows[i].code;
        }
    if (source->code && strstr(source->code, "VersionMismatch")) {
        out->kind = VIM_FAULT_BAD_VERSION;
        vim_fault_copy_text("VersionMismatch", out->name, sizeof(out->name));
    } else if (!out->name[0]) {
        vim_fault_copy_text(source->code ? source->code : "unknown", out->name, sizeof(out->name));
    }
}

void vim_fault_read(const struct vim_fault_source *source, struct vim_fault *out) {
    const struct fault_row *row = NULL;
    memset(out, 0, sizeof(*out));
    vim_fault_copy_text(source->text, out->text, sizeof(out->text));
    for (size_t i = 0; source->value && i < ARRAY_COUNT(rows); i++)
        if (rows[i].type == source->type)
            row = &rows[i];
    if (!row) {
        read_unknown(source, out);
        return;
    }
    out->kind = row->kind;
    out->code = row->code;
    vim_fault_copy_text(row->name, out->name, sizeof(out->name));
    take_members(source->type, source->value, out);
}

/* A password whose time is over has a fault of its own since API 6.7.2. None has a locked account (developer.broadcom.com, vim.fault.InvalidLogin, "Extended
 * by"): only the text may tell, in the words of Single Sign-On (Broadcom KB 326186), where the vCenter speaks English. */
static void vim_fault_report_login(const struct vim_fault *f, struct err *err) {
    if (str_eq(f->name, "PasswordExpired")) {
        err_set(err, f->code, "vCenter says that the password has expired");
        (void)err_because(err, ERR_CAUSE_PASSWORD_ENDED);
    } else if (strcasestr(f->text, "account is locked")) {
        err_set(err, f->code, "vCenter says that the account is locked");
        (void)err_because(err, ERR_CAUSE_LOCKED);
    } else {
        err_set(err, f->code, "vCenter did not accept the credentials");
        (void)err_because(err, ERR_CAUSE_LOGIN);
    }
}

static void vim_fault_report_kind(const struct vim_fault *f, const char *operation, struct err *err) {
    switch (f->kind) {
    case VIM_FAULT_INVALID_LOGIN: vim_fault_report_login(f, err); return;
    case VIM_FAULT_NOT_AUTHENTICATED: err_set(err, f->code, "vCenter knows no such session, or it has ended"); return;
    case VIM_FAULT_NO_PERMISSION:
        err_set(err, f->code, "vCenter denies %s: privilege %s is missing on %s%s%s", operation,
                f->subject[0] ? f->subject : "(not named)", f->object_type[0] ? f->object_type : "the object",
                f->object[0] ? " " : "", f->object);
        err_remedy(err, "give this privilege there to the account or extension that kaasd uses");
        (void)err_because(err, ERR_CAUSE_PRIVILEGE);
        return;
    case VIM_FAULT_OBJECT_GONE: err_set(err, f->code, "vCenter has no object %s %s", f->object_type, f->object); return;
    case VIM_FAULT_BAD_VERSION:
        err_set(err, f->code, "vCenter does not speak the API version that was agreed on; it may have been changed meanwhile");
        return;
    case VIM_FAULT_NONE:
    case VIM_FAULT_OTHER:
    case VIM_FAULT_METHOD_NOT_FOUND:
    case VIM_FAULT_STALE:
    case VIM_FAULT_CANCELED:
    case VIM_FAULT_NAME_TAKEN:
    case VIM_FAULT_POWER:
    default:
        err_set(err, f->code, "vCenter answered %s with fault %s%s%s%s%s%s", operation, f->name, f->subject[0] ? " (" : "",
                f->subject, f->subject[0] ? ")" : "", f->text[0] ? ": " : "", f->text);
    }
}

int vim_fault_report(const struct vim_fault *fault, const char *operation, struct err *err) {
    vim_fault_report_kind(fault, operation, err);
    if (str_eq(fault->name, "NoClientCertificate")) {
        err_remedy(
            err,
            "this port does not pass the client certificate on: use the tunnel on port 80, or a port where vpxd itself ends TLS");
        (void)err_because(err, ERR_CAUSE_CLIENT_CERTIFICATE);
    }
    for (size_t i = 0; i < ARRAY_COUNT(remedies); i++)
        if (str_eq(remedies[i].name, fault->name))
            err_remedy(err, "%s", remedies[i].remedy);
    err_detail(err, "operation=%s fault=%s object=%s:%s subject=%s text=%s", operation, fault->name, fault->object_type,
               fault->object, fault->subject, fault->text);
    return fault->code;
}
