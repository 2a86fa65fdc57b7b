/* Making, changing and destroying virtual machines. Layer 2 (vim).
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Specifications and devices: vSphere Web Services API reference 8.0U3. Of a specification only what is set is changed. */
#include "vim_build.h"

#include <stdio.h>
#include <string.h>

#include "str.h"
#include "vim_client.h"
#include "vim_guest_state_private.h"
#include "vim_property.h"
#include "vim_task_private.h"

#define MACHINE "VirtualMachine"
#define PORT_GROUP "DistributedVirtualPortgroup"
#define NEW_CARD_KEY (-1) /* keys of new devices are negative until the server draws them */
#define CARDS_MAX 16

/* -- network cards ----------------------------------------------------------------------------------------------------------- */

/* A card as it was read. */
struct vim_card {
    int type; /* SOAP_TYPE_... of its class */
    int key;
    char mac[18];
    char network[VIM_MOREF_BYTES]; /* of a Network, or key of a port group */
};
struct vim_cards {
    struct vim_card items[CARDS_MAX];
    size_t count;
};

/* A network as a card's backing names it. */
struct vim_port_group {
    char key[VIM_MOREF_BYTES], switch_moref[VIM_MOREF_BYTES], switch_uuid[64];
};

/* Their classes; in our subset all have the members of the first. */
static const int vim_card_types[] = {
    SOAP_TYPE_vim25__VirtualEthernetCard, SOAP_TYPE_vim25__VirtualE1000,        SOAP_TYPE_vim25__VirtualE1000e,
    SOAP_TYPE_vim25__VirtualPCNet32,      SOAP_TYPE_vim25__VirtualVmxnet,       SOAP_TYPE_vim25__VirtualVmxnet2,
    SOAP_TYPE_vim25__VirtualVmxnet3,      SOAP_TYPE_vim25__VirtualVmxnet3Vrdma, SOAP_TYPE_vim25__VirtualSriovEthernetCard,
};
_Static_assert(sizeof(struct vim25__VirtualEthernetCard) == sizeof(struct vim25__VirtualVmxnet3Vrdma) &&
                   sizeof(struct vim25__VirtualEthernetCard) == sizeof(struct vim25__VirtualSriovEthernetCard),
               "all classes of cards have the same members");

static void vim_card_copy(char *out, size_t size, const char *text) {
    const size_t n = text ? strlen(text) : 0;
    const bool is_fit = n && n < size;
    memcpy(out, is_fit ? text : "", is_fit ? n + 1 : 1);
}

static void vim_card_take_backing(struct vim_card *card, int type, const void *val) {
    if (val && type == SOAP_TYPE_vim25__VirtualEthernetCardNetworkBackingInfo) {
        const struct vim25__VirtualEthernetCardNetworkBackingInfo *backing = val;
        vim_card_copy(card->network, sizeof(card->network), backing->network ? backing->network->__item : NULL);
    } else if (val && type == SOAP_TYPE_vim25__VirtualEthernetCardDistributedVirtualPortBackingInfo) {
        const struct vim25__VirtualEthernetCardDistributedVirtualPortBackingInfo *backing = val;
        vim_card_copy(card->network, sizeof(card->network), backing->port ? backing->port->portgroupKey : NULL);
    }
}

/* Devices of other classes are no cards. */
static void vim_cards_take_device(struct vim_cards *cards, int type, const void *val) {
    const struct vim25__VirtualEthernetCard *device = NULL;
    for (size_t i = 0; val && i < ARRAY_COUNT(vim_card_types); i++)
        device = vim_card_types[i] == type ? val : device;
    if (!device || cards->count == CARDS_MAX)
        return;
    struct vim_card *card = &cards->items[cards->count++];
    *card = (struct vim_card){.type = type, .key = device->key};
    vim_card_copy(card->mac, sizeof(card->mac), device->macAddress);
    vim_card_take_backing(card, device->__type, device->backing);
}

static void vim_cards_take(struct vim_cards *cards, const struct vim25__ArrayOfVirtualDevice *devices) {
    cards->count = 0;
    for (int i = 0; devices && i < devices->__size_ArrayOfVirtualDevice_sequence; i++)
        vim_cards_take_device(cards, devices->__ArrayOfVirtualDevice_sequence[i].__type,
                              devices->__ArrayOfVirtualDevice_sequence[i].VirtualDevice);
}

static int vim_cards_take_object(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property devices = {"config.hardware.device", SOAP_TYPE_vim25__ArrayOfVirtualDevice, VIM_REQUIRED};
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &devices, &value, err);
    if (!rc)
        vim_cards_take(arg, value);
    return rc;
}

static int vim_cards_read(struct vim_context *ctx, const char *machine, struct vim_cards *out, struct err *err) {
    out->count = 0;
    return vim_retrieve_one(ctx, &(struct vim_one){MACHINE, machine, "config.hardware.device"}, vim_cards_take_object, out, err);
}

static int vim_port_group_take(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property key = {"key", SOAP_TYPE_string, VIM_REQUIRED};
    static const struct vim_property on = {"config.distributedVirtualSwitch", SOAP_TYPE_vim25__ManagedObjectReference,
                                           VIM_REQUIRED};
    struct vim_port_group *group = arg;
    const void *text = NULL, *ref = NULL;
    int rc = vim_property_get(ctx, object, &key, &text, err);
    rc = rc ? rc : vim_property_get(ctx, object, &on, &ref, err);
    if (rc)
        return rc;
    vim_card_copy(group->key, sizeof(group->key), text);
    vim_card_copy(group->switch_moref, sizeof(group->switch_moref), ((const struct vim25__ManagedObjectReference *)ref)->__item);
    return 0;
}

static int vim_port_group_take_switch(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg,
                                      struct err *err) {
    static const struct vim_property uuid = {"uuid", SOAP_TYPE_string, VIM_REQUIRED};
    struct vim_port_group *group = arg;
    const void *text = NULL;
    int rc = vim_property_get(ctx, object, &uuid, &text, err);
    vim_card_copy(group->switch_uuid, sizeof(group->switch_uuid), text);
    return rc;
}

/* A port group of a distributed switch is named by that switch and its own key; any other network by itself. */
static int vim_port_group_read(struct vim_context *ctx, const struct vim_network *network, struct vim_port_group *out,
                               struct err *err) {
    static const char *const paths[] = {"key", "config.distributedVirtualSwitch", NULL};
    *out = (struct vim_port_group){.key = ""};
    if (!str_eq(network->type, PORT_GROUP)) {
        vim_card_copy(out->key, sizeof(out->key), network->moref);
        return 0;
    }
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, PORT_GROUP, network->moref, 1);
    if (spec)
        vim_in_paths(ctx, &spec->propSet[0], PORT_GROUP, paths);
    int rc = vim_retrieve(ctx, spec, vim_port_group_take, out, err);
    const struct vim_one one = {"VmwareDistributedVirtualSwitch", out->switch_moref, "uuid"};
    return rc ? rc : vim_retrieve_one(ctx, &one, vim_port_group_take_switch, out, err);
}

/* Has an item of a change take the card away; the class must be the card's own. */
static void vim_in_remove_card(struct vim_context *ctx, const struct vim_card *card, struct vim25__VirtualDeviceConfigSpec *to) {
    struct vim25__VirtualEthernetCard *device = vim_in_alloc(ctx, 1, sizeof(*device));
    if (!device)
        return;
    device->key = card->key;
    to->operation = vim_in_text(ctx, "remove", "the operation");
    to->__type = card->type;
    to->device = device;
}

static void vim_in_backing(struct vim_context *ctx, const struct vim_network *network, const struct vim_port_group *group,
                           struct vim25__VirtualVmxnet3 *card) {
    struct vim25__VirtualEthernetCardNetworkBackingInfo *plain = vim_in_alloc(ctx, 1, sizeof(*plain));
    struct vim25__VirtualEthernetCardDistributedVirtualPortBackingInfo *port = vim_in_alloc(ctx, 1, sizeof(*port));
    struct vim25__DistributedVirtualSwitchPortConnection *at = vim_in_alloc(ctx, 1, sizeof(*at));
    if (!plain || !port || !at)
        return;
    if (group->switch_uuid[0]) {
        at->switchUuid = vim_in_text(ctx, group->switch_uuid, "the switch");
        at->portgroupKey = vim_in_text(ctx, group->key, "the port group");
        port->port = at;
        card->__type = SOAP_TYPE_vim25__VirtualEthernetCardDistributedVirtualPortBackingInfo;
        card->backing = port;
    } else {
        plain->deviceName = vim_in_lines(ctx, network->name, "the network's name");
        plain->network = vim_in_ref(ctx, network->type, network->moref);
        card->__type = SOAP_TYPE_vim25__VirtualEthernetCardNetworkBackingInfo;
        card->backing = plain;
    }
}

static void vim_in_add_card(struct vim_context *ctx, const struct vim_network *network, const struct vim_port_group *group,
                            struct vim25__VirtualDeviceConfigSpec *to) {
    struct vim25__VirtualVmxnet3 *card = vim_in_alloc(ctx, 1, sizeof(*card));
    struct vim25__VirtualDeviceConnectInfo *connect = vim_in_alloc(ctx, 1, sizeof(*connect));
    if (!card || !connect)
        return;
    card->key = NEW_CARD_KEY;
    connect->startConnected = connect->allowGuestControl = connect->connected = xsd__boolean__true_;
    card->connectable = connect;
    vim_in_backing(ctx, network, group, card);
    to->operation = vim_in_text(ctx, "add", "the operation");
    to->__type = SOAP_TYPE_vim25__VirtualVmxnet3;
    to->device = card;
}

/* All cards go, and one comes. */
static struct vim25__VirtualDeviceConfigSpec *vim_in_cards(struct vim_context *ctx, const struct vim_cards *cards,
                                                           const struct vim_network *network, const struct vim_port_group *group,
                                                           int *count) {
    struct vim25__VirtualDeviceConfigSpec *out = vim_in_alloc(ctx, cards->count + 1, sizeof(*out));
    *count = out ? (int)cards->count + 1 : 0;
    for (size_t i = 0; out && i < cards->count; i++)
        vim_in_remove_card(ctx, &cards->items[i], &out[i]);
    if (out)
        vim_in_add_card(ctx, network, group, &out[cards->count]);
    return out;
}

/* -- cloning and changing ---------------------------------------------------------------------------------------------------- */

struct vim_building {
    const struct vim_clone *clone;
    const struct vim_change *change;
    struct vim_task *task;
};

static int vim_build_op_clone(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_building *b = arg;
    const struct vim_clone *c = b->clone;
    enum xsd__boolean yes = xsd__boolean__true_;
    struct vim_cards cards;
    struct vim_port_group group;
    int rc = vim_cards_read(ctx, c->source, &cards, err);
    rc = rc ? rc : vim_port_group_read(ctx, &c->network, &group, err);
    if (rc)
        return rc;
    vim_context_reset(ctx);
    struct vim25__VirtualMachineRelocateSpec location = {.datastore = vim_in_ref(ctx, "Datastore", c->datastore)};
    struct vim25__VirtualMachineConfigSpec config = {.vAppConfigRemoved = &yes};
    struct vim25__VirtualMachineCloneSpec spec = {
        .location = &location, .config = &config, .template_ = xsd__boolean__false_, .powerOn = xsd__boolean__false_};
    location.diskMoveType = vim_in_text(ctx, "moveAllDiskBackingsAndConsolidate", "how disks are copied");
    location.pool = vim_in_ref(ctx, "ResourcePool", c->pool);
    location.deviceChange = vim_in_cards(ctx, &cards, &c->network, &group, &location.__sizedeviceChange);
    config.instanceUuid = vim_in_text(ctx, c->instance_uuid, "the instance UUID");
    VIM_REQUEST(ctx, CloneVM_USCORETask, MACHINE, c->source, .spec = &spec);
    request.folder = vim_in_ref(ctx, "Folder", c->folder);
    request.name = vim_in_text(ctx, c->name, "the machine's name");
    rc = VIM_CALL_TASK(ctx, CloneVM, &request, &response, err);
    return vim_task_begin(ctx, rc, rc ? NULL : response.returnval, b->task, err);
}

int vim_clone_machine(struct vim_client *client, const struct vim_clone *clone, struct vim_task *out, struct err *err) {
    struct vim_building building = {.clone = clone, .task = out};
    return vim_client_run_as_us(client, vim_build_op_clone, &building, err);
}

static void vim_in_options(struct vim_context *ctx, const struct vim_change *change, struct vim25__VirtualMachineConfigSpec *to) {
    to->extraConfig = vim_in_alloc(ctx, change->option_count, sizeof(*to->extraConfig));
    for (size_t i = 0; to->extraConfig && i < change->option_count; i++) {
        const struct vim_option *option = &change->options[i];
        to->extraConfig[i].key = vim_in_text(ctx, option->key, "an option's name");
        to->extraConfig[i].__type = SOAP_TYPE_string;
        to->extraConfig[i].value = vim_in_secret(ctx, option->value ? option->value : "", option->key);
    }
    to->__sizeextraConfig = to->extraConfig ? (int)change->option_count : 0;
}

static int vim_build_op_change(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_building *b = arg;
    const struct vim_change *c = b->change;
    struct vim_cards cards = {.count = 0};
    struct vim_port_group group;
    int cpus = (int)c->cpus;
    LONG64 memory = c->memory_mib;
    int rc = c->network ? vim_cards_read(ctx, c->moref, &cards, err) : 0;
    rc = rc || !c->network ? rc : vim_port_group_read(ctx, c->network, &group, err);
    if (rc)
        return rc;
    vim_context_reset(ctx);
    struct vim25__ManagedByInfo by = {0};
    struct vim25__VirtualMachineConfigSpec spec = {.numCPUs = cpus ? &cpus : NULL, .memoryMB = memory ? &memory : NULL};
    if (c->managed_by) {
        by.extensionKey = vim_in_text(ctx, c->managed_by, "the extension");
        by.type = vim_in_text(ctx, c->managed_as, "the type of managed machine");
        spec.managedBy = &by;
    }
    spec.annotation = vim_in_optional(ctx, c->annotation, "the annotation");
    if (c->network)
        spec.deviceChange = vim_in_cards(ctx, &cards, c->network, &group, &spec.__sizedeviceChange);
    vim_in_options(ctx, c, &spec);
    VIM_REQUEST(ctx, ReconfigVM_USCORETask, MACHINE, c->moref, .spec = &spec);
    rc = VIM_CALL_TASK(ctx, ReconfigVM, &request, &response, err);
    return vim_task_begin(ctx, rc, rc ? NULL : response.returnval, b->task, err);
}

int vim_change_machine(struct vim_client *client, const struct vim_change *change, struct vim_task *out, struct err *err) {
    struct vim_building building = {.change = change, .task = out};
    for (size_t i = 0; i < change->option_count; i++)
        if (change->options[i].value && strlen(change->options[i].value) > VIM_OPTION_BYTES_MAX)
            return err_set(err, ERR_TOO_LARGE, "%s has %zu bytes; a guest can read %u", change->options[i].key,
                           strlen(change->options[i].value), VIM_OPTION_BYTES_MAX);
    return vim_client_run_as_us(client, vim_build_op_change, &building, err);
}

/* -- power and destruction --------------------------------------------------------------------------------------------------- */

struct vim_ordering {
    const char *type, *moref;
    struct vim_task *task;
};

static int vim_build_op_on(struct vim_context *ctx, void *arg, struct err *err) {
    const struct vim_ordering *order = arg;
    VIM_REQUEST(ctx, PowerOnVM_USCORETask, MACHINE, order->moref);
    int rc = VIM_CALL_TASK(ctx, PowerOnVM, &request, &response, err);
    return vim_task_begin(ctx, rc, rc ? NULL : response.returnval, order->task, err);
}

static int vim_build_op_off(struct vim_context *ctx, void *arg, struct err *err) {
    const struct vim_ordering *order = arg;
    VIM_REQUEST(ctx, PowerOffVM_USCORETask, MACHINE, order->moref);
    int rc = VIM_CALL_TASK(ctx, PowerOffVM, &request, &response, err);
    return vim_task_begin(ctx, rc, rc ? NULL : response.returnval, order->task, err);
}

static int vim_build_op_destroy(struct vim_context *ctx, void *arg, struct err *err) {
    const struct vim_ordering *order = arg;
    VIM_REQUEST(ctx, Destroy_USCORETask, order->type, order->moref);
    int rc = VIM_CALL_TASK(ctx, Destroy, &request, &response, err);
    return vim_task_begin(ctx, rc, rc ? NULL : response.returnval, order->task, err);
}

static int vim_build_op_shutdown(struct vim_context *ctx, void *arg, struct err *err) {
    VIM_REQUEST(ctx, ShutdownGuest, MACHINE, arg);
    return VIM_CALL(ctx, ShutdownGuest, &request, &response, err);
}

int vim_power_on(struct vim_client *client, const char *moref, struct vim_task *out, struct err *err) {
    struct vim_ordering order = {MACHINE, moref, out};
    return vim_client_run_as_us(client, vim_build_op_on, &order, err);
}

int vim_power_off(struct vim_client *client, const char *moref, struct vim_task *out, struct err *err) {
    struct vim_ordering order = {MACHINE, moref, out};
    return vim_client_run_as_us(client, vim_build_op_off, &order, err);
}

int vim_shutdown_guest(struct vim_client *client, const char *moref, struct err *err) {
    return vim_client_run_as_us(client, vim_build_op_shutdown, (char *)(uintptr_t)moref, err);
}

int vim_destroy_machine(struct vim_client *client, const char *moref, struct vim_task *out, struct err *err) {
    struct vim_ordering order = {MACHINE, moref, out};
    return vim_client_run_as_us(client, vim_build_op_destroy, &order, err);
}

int vim_destroy_folder(struct vim_client *client, const char *moref, struct vim_task *out, struct err *err) {
    struct vim_ordering order = {"Folder", moref, out};
    return vim_client_run_as_us(client, vim_build_op_destroy, &order, err);
}

/* -- folders ----------------------------------------------------------------------------------------------------------------- */

struct vim_folder {
    const char *parent, *name;
    char *out;
    bool is_there, is_empty;
};

static int vim_folder_op_make(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_folder *folder = arg;
    struct err why = {0};
    char id[VIM_VIEW_BYTES];
    folder->is_there = false;
    VIM_REQUEST(ctx, CreateFolder, "Folder", folder->parent);
    request.name = vim_in_text(ctx, folder->name, "the folder's name");
    int rc = VIM_CALL(ctx, CreateFolder, &request, &response, &why);
    if (rc && ctx->fault.kind == VIM_FAULT_NAME_TAKEN && ctx->fault.object[0]) {
        vim_card_copy(folder->out, VIM_MOREF_BYTES, ctx->fault.object);
        memset(&ctx->fault, 0, sizeof(ctx->fault));
        folder->is_there = true;
        return 0;
    }
    rc = rc ? err_move(err, rc, &why) : vim_keep_id(ctx, response.returnval, "the folder", id, err);
    if (!rc)
        vim_card_copy(folder->out, VIM_MOREF_BYTES, id);
    return rc;
}

int vim_make_folder(struct vim_client *client, const char *parent, const char *name, char out[VIM_MOREF_BYTES], bool *is_there,
                    struct err *err) {
    struct vim_folder folder = {.parent = parent, .name = name, .out = out};
    int rc = vim_client_run_as_us(client, vim_folder_op_make, &folder, err);
    *is_there = folder.is_there;
    return rc;
}

static int vim_folder_take(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property children = {"childEntity", SOAP_TYPE_vim25__ArrayOfManagedObjectReference, VIM_MAY_UNSET};
    struct vim_folder *folder = arg;
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &children, &value, err);
    const struct vim25__ArrayOfManagedObjectReference *list = value;
    folder->is_empty = !rc && (!list || !list->__sizeManagedObjectReference);
    return rc;
}

static int vim_folder_op_look(struct vim_context *ctx, void *arg, struct err *err) {
    struct vim_folder *folder = arg;
    return vim_retrieve_one(ctx, &(struct vim_one){"Folder", folder->parent, "childEntity"}, vim_folder_take, folder, err);
}

int vim_is_folder_empty(struct vim_client *client, const char *moref, bool *is_empty, struct err *err) {
    struct vim_folder folder = {.parent = moref};
    int rc = vim_client_run_as_us(client, vim_folder_op_look, &folder, err);
    *is_empty = folder.is_empty;
    return rc;
}

struct vim_folder_search {
    const char *folder, *name;
    char *out;
};

static int vim_folder_take_child(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property name = {"name", SOAP_TYPE_string, VIM_OPTIONAL};
    const struct vim_folder_search *search = arg;
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &name, &value, err);
    if (!rc && value && object->obj && str_eq(value, search->name))
        vim_card_copy(search->out, VIM_MOREF_BYTES, object->obj->__item);
    return rc;
}

static int vim_folder_op_find(struct vim_context *ctx, void *arg, struct err *err) {
    static const char *const paths[] = {"name", NULL};
    const struct vim_folder_search *search = arg;
    struct vim25__TraversalSpec into = {0};
    enum xsd__boolean yes = xsd__boolean__true_;
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, "Folder", search->folder, 1);
    search->out[0] = '\0';
    if (!spec)
        return err_set(err, ERR_NOMEM, "out of memory");
    vim_in_paths(ctx, &spec->propSet[0], MACHINE, paths);
    into.type = vim_in_text(ctx, "Folder", "a type");
    into.path = vim_in_text(ctx, "childEntity", "a path");
    spec->objectSet[0].skip = &yes;
    spec->objectSet[0].__type = SOAP_TYPE_vim25__TraversalSpec;
    spec->objectSet[0].selectSet = &into;
    return vim_retrieve(ctx, spec, vim_folder_take_child, arg, err);
}

int vim_find_in_folder(struct vim_client *client, const char *folder, const char *name, char out[VIM_MOREF_BYTES],
                       struct err *err) {
    struct vim_folder_search search = {folder, name, out};
    return vim_client_run_as_us(client, vim_folder_op_find, &search, err);
}

/* -- finding and reading ----------------------------------------------------------------------------------------------------- */

struct vim_finding {
    const char *uuid;
    char *out;
};

static int vim_find_op(struct vim_context *ctx, void *arg, struct err *err) {
    const struct vim_finding *finding = arg;
    enum xsd__boolean yes = xsd__boolean__true_;
    char id[VIM_VIEW_BYTES] = "";
    finding->out[0] = '\0';
    VIM_REQUEST(ctx, FindByUuid, "SearchIndex", ctx->content.search_index, .vmSearch = xsd__boolean__true_, .instanceUuid = &yes);
    request.uuid = vim_in_text(ctx, finding->uuid, "the UUID");
    int rc = VIM_CALL(ctx, FindByUuid, &request, &response, err);
    if (!rc && response.returnval)
        rc = vim_keep_id(ctx, response.returnval, "the machine", id, err);
    if (!rc)
        vim_card_copy(finding->out, VIM_MOREF_BYTES, id);
    return rc;
}

int vim_find_machine(struct vim_client *client, const char *instance_uuid, char out[VIM_MOREF_BYTES], struct err *err) {
    struct vim_finding finding = {instance_uuid, out};
    return vim_client_run_as_us(client, vim_find_op, &finding, err);
}

struct vim_looking {
    const char *moref;
    const struct vim_network *network;
    struct vim_port_group group;
    struct vim_machine_now *out;
};

static const void *vim_now_value(const struct vim25__DynamicProperty *property, const char *path, int type) {
    return str_eq(property->name, path) && property->__type == type ? property->val : NULL;
}

static void vim_now_take_cards(const struct vim_looking *looking, const struct vim25__ArrayOfVirtualDevice *devices) {
    struct vim_cards cards;
    vim_cards_take(&cards, devices);
    struct vim_machine_now *to = looking->out;
    to->card_count = cards.count;
    if (cards.count != 1)
        return;
    vim_card_copy(to->mac, sizeof(to->mac), cards.items[0].mac);
    to->is_on_network = looking->network && str_eq(cards.items[0].network, looking->group.key);
}

static void vim_now_take_property(const struct vim_looking *looking, const struct vim25__DynamicProperty *property) {
    struct vim_machine_now *to = looking->out;
    const void *value;
    if ((value = vim_now_value(property, "name", SOAP_TYPE_string))) {
        (void)snprintf(to->name, sizeof(to->name), "%s", (const char *)value);
        vim_unescape_name(to->name);
    } else if ((value = vim_now_value(property, "config.instanceUuid", SOAP_TYPE_string))) {
        vim_card_copy(to->instance_uuid, sizeof(to->instance_uuid), value);
        str_lower(to->instance_uuid);
    } else if ((value = vim_now_value(property, "config.managedBy", SOAP_TYPE_vim25__ManagedByInfo)))
        vim_card_copy(to->managed_by, sizeof(to->managed_by), ((const struct vim25__ManagedByInfo *)value)->extensionKey);
    else if ((value = vim_now_value(property, "config.hardware.numCPU", SOAP_TYPE_int)))
        to->cpus = *(const int *)value;
    else if ((value = vim_now_value(property, "config.hardware.memoryMB", SOAP_TYPE_int)))
        to->memory_mib = *(const int *)value;
    else if ((value = vim_now_value(property, "config.hardware.device", SOAP_TYPE_vim25__ArrayOfVirtualDevice)))
        vim_now_take_cards(looking, value);
    else
        vim_guest_state_take(&to->guest, property->name, property->__type, property->val);
}

static int vim_now_take(struct vim_context *ctx, const struct vim25__ObjectContent *object, void *arg, struct err *err) {
    static const struct vim_property name = {"name", SOAP_TYPE_string, VIM_REQUIRED};
    const struct vim_looking *looking = arg;
    const void *value = NULL;
    int rc = vim_property_get(ctx, object, &name, &value, err);
    for (int i = 0; !rc && i < object->__sizepropSet; i++)
        vim_now_take_property(looking, &object->propSet[i]);
    return rc;
}

static int vim_now_op(struct vim_context *ctx, void *arg, struct err *err) {
    static const char *const paths[] = {"name",
                                        "config.instanceUuid",
                                        "config.managedBy",
                                        "config.hardware.numCPU",
                                        "config.hardware.memoryMB",
                                        "config.hardware.device",
                                        VIM_GUEST_PATHS,
                                        NULL};
    struct vim_looking *looking = arg;
    int rc = looking->network ? vim_port_group_read(ctx, looking->network, &looking->group, err) : 0;
    if (rc)
        return rc;
    vim_context_reset(ctx);
    *looking->out = (struct vim_machine_now){.guest.is_told = true};
    vim_card_copy(looking->out->guest.moref, VIM_MOREF_BYTES, looking->moref);
    struct vim25__PropertyFilterSpec *spec = vim_in_filter(ctx, MACHINE, looking->moref, 1);
    if (spec)
        vim_in_paths(ctx, &spec->propSet[0], MACHINE, paths);
    return vim_retrieve(ctx, spec, vim_now_take, looking, err);
}

int vim_read_machine(struct vim_client *client, const char *moref, const struct vim_network *network, struct vim_machine_now *out,
                     struct err *err) {
    struct vim_looking looking = {.moref = moref, .network = network, .out = out};
    return vim_client_run_as_us(client, vim_now_op, &looking, err);
}
