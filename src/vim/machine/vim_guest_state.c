/* What guests say of themselves. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "str.h"
#include "vim_guest_state_private.h"

bool vim_guest_state_has_address(const struct vim_guest_state *state, const char *address) {
    for (size_t i = 0; i < state->address_count; i++)
        if (str_eq(state->addresses[i], address))
            return true;
    return false;
}

/* As one line of printable text, cut at a character border. */
static void vim_guest_state_copy(char *out, size_t size, const char *text) {
    size_t n = 0;
    if (str_utf8_chars(text, strlen(text)) < 0)
        text = "";
    for (; text[n] && n + 1 < size; n++)
        out[n] = (unsigned char)text[n] < 0x20 || text[n] == 0x7f ? ' ' : text[n];
    if (text[n])
        while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    out[n] = '\0';
}

static void vim_guest_state_take_net(struct vim_guest_state *state, const struct vim25__ArrayOfGuestNicInfo *net) {
    state->address_count = 0;
    for (int i = 0; net && i < net->__sizeGuestNicInfo; i++)
        for (int k = 0; k < net->GuestNicInfo[i].__sizeipAddress; k++) {
            const char *address = net->GuestNicInfo[i].ipAddress[k];
            if (state->address_count == VIM_GUEST_STATE_ADDRESSES_MAX)
                return;
            if (!str_empty(address) && strlen(address) < sizeof(state->addresses[0]))
                vim_guest_state_copy(state->addresses[state->address_count++], sizeof(state->addresses[0]), address);
        }
}

/* cloud-init overwrites what it has read, where it is told to, with "---" (cloud-init documentation, VMware datasource, "redact"). */
static bool vim_guest_state_is_there(const char *value) {
    return !str_empty(value) && !str_eq(value, "---");
}

static void vim_guest_state_take_option(struct vim_guest_state *state, const char *key, const char *value) {
    if (str_eq(key, "guestinfo.userdata"))
        state->has_userdata = vim_guest_state_is_there(value);
    else if (str_eq(key, "guestinfo.metadata"))
        state->has_metadata = vim_guest_state_is_there(value);
    else if (str_eq(key, "guestinfo.kaas.phase"))
        vim_guest_state_copy(state->phase, sizeof(state->phase), value);
    else if (str_eq(key, "guestinfo.kaas.error"))
        vim_guest_state_copy(state->error, sizeof(state->error), value);
}

static void vim_guest_state_take_options(struct vim_guest_state *state, const struct vim25__ArrayOfOptionValue *list) {
    state->has_userdata = state->has_metadata = false;
    state->phase[0] = state->error[0] = '\0';
    for (int i = 0; list && i < list->__sizeOptionValue; i++) {
        const struct vim25__OptionValue *option = &list->OptionValue[i];
        if (option->key && option->value && option->__type == SOAP_TYPE_string)
            vim_guest_state_take_option(state, option->key, option->value);
    }
}

void vim_guest_state_take(struct vim_guest_state *state, const char *path, int type, const void *val) {
    const bool is_text = val && (type == SOAP_TYPE_string || type == SOAP_TYPE_vim25__VirtualMachinePowerState);
    if (str_eq(path, "runtime.powerState"))
        state->is_on = is_text && str_eq(val, "poweredOn");
    else if (str_eq(path, "guest.toolsRunningStatus"))
        state->has_tools = is_text && str_eq(val, "guestToolsRunning");
    else if (str_eq(path, "guest.net"))
        vim_guest_state_take_net(state, type == SOAP_TYPE_vim25__ArrayOfGuestNicInfo ? val : NULL);
    else if (str_eq(path, "config.extraConfig"))
        vim_guest_state_take_options(state, type == SOAP_TYPE_vim25__ArrayOfOptionValue ? val : NULL);
}
