/* Faults of vCenter as plain data and as our errors. Layer 2 (vim), private.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "err.h"

/* The faults on which callers decide; all others are OTHER and differ in name and code only. */
enum vim_fault_kind {
    VIM_FAULT_NONE = 0,
    VIM_FAULT_OTHER,
    VIM_FAULT_INVALID_LOGIN,
    VIM_FAULT_NOT_AUTHENTICATED,
    VIM_FAULT_NO_PERMISSION,
    VIM_FAULT_OBJECT_GONE,
    VIM_FAULT_METHOD_NOT_FOUND,
    VIM_FAULT_BAD_VERSION,
    VIM_FAULT_STALE, /* a collector's version that the server does not know (any more) */
    VIM_FAULT_CANCELED, /* the server goes down, or somebody else has ended the wait; never we ourselves. Of a task: somebody has canceled it */
    VIM_FAULT_NAME_TAKEN, /* `object` has the name */
    VIM_FAULT_POWER,      /* a machine is on or off, and should not be, or is already what was asked for */
};

/* Texts are cut where they do not fit, and hold no control characters. All-zero is "no fault". */
struct vim_fault {
    enum vim_fault_kind kind;
    int code;             /* ERR_* */
    char name[64];        /* "NoPermission" */
    char text[200];       /* what vCenter says, in its language; may be empty */
    char object_type[64]; /* object the fault names; empty: none */
    char object[81];
    char subject[128]; /* privilege, property, argument, name or method the fault names */
};

/* What a fault looks like in the codec: pointer and type number chosen by xsi:type, or only XML text. */
struct vim_fault_source {
    int type;
    const void *value; /* NULL: a type that we do not know */
    const char *any;   /* XML text of an unknown detail; may be NULL */
    const char *code;  /* faultcode; may be NULL */
    const char *text;  /* faultstring or localizedMessage; may be NULL */
};

/* Reads any fault, known or not. */
void vim_fault_read(const struct vim_fault_source *source, struct vim_fault *out);

/* Describes the fault that `operation` met as an error. Returns fault->code. */
int vim_fault_report(const struct vim_fault *fault, const char *operation, struct err *err);
